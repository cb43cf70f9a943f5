void f(int n, double x[n]) {
  static const unsigned char bits[256] = {0, 1, 1, 2};
  for (int i = 0; i < n && i < 256; i++)
    x[i] = bits[i];
}
