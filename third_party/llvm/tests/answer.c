int answer(int x) { return 6 * x; }
