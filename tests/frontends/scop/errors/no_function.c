int n = 3;
