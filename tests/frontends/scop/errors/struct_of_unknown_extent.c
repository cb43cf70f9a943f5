struct list { int count; double values[]; };
void f(struct list *a) {
  for (int i = 0; i < a->count; i++)
    a->values[i] = 1;
}
