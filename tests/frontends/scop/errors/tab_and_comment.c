void f(int n, double x[n]) {
	for (int i = 0; i < n; i++) /* all */
		x[i] = x[i] * /* not this */ y[i];
}
