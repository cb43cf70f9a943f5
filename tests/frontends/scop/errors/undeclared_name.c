void f(int n, double input[n], double output[n]) {
  output[0] = inputs[0];
}
