package n1ql

import "testing"

// TestBits has the examples of Couchbase's documentation, and what becomes of values that are no integers.
func TestBits(t *testing.T) {
	f := newFake(t, map[string]string{"doc": document})
	wantExpressions(t, f, [][2]string{
		{"BITAND(3, 6)", "2"}, {"BITAND(4.5, 3)", "null"}, {"BITAND(4.0, 3)", "0"}, {"BITAND(3, 6, 15)", "2"},
		{"BITOR(3, 6)", "7"}, {"BITOR(3, -4)", "-1"}, {"BITOR(3, 6, 15)", "15"}, {"BITXOR(3, 6)", "5"},
		{"BITXOR(3, 6, 15)", "10"}, {"BITNOT(3)", "-4"}, {"BITNOT('x')", "null"}, {"BITNOT(b)", "MISSING"},
		{"BITAND(1, n)", "null"}, {"BITAND(n, b)", "MISSING"}, {"BITAND(1, big)", "null"}, {"BITAND(1, 't')", "null"},
		{"BITCLEAR(6, 1)", "6"}, {"BITCLEAR(6, [1, 2])", "4"}, {"BITCLEAR(31, [2, 4, 5])", "5"}, {"BITCLEAR(6, 0)", "null"},
		{"BITSET(6, 1)", "7"}, {"BITSET(6, [1, 2])", "7"}, {"BITSET(6, [1, 4])", "15"}, {"BITSET(6, -1)", "null"},
		{"BITSET(0, 64)", "-9223372036854775808"}, {"BITSET(0, 65)", "null"}, {"BITSET(0, [1, 'x'])", "null"},
		{"BITSET(0, [])", "0"}, {"BITSET(0, [1.0])", "1"},
		{"BITSHIFT(6, 1, FALSE)", "12"}, {"BITSHIFT(6, -2, FALSE)", "1"}, {"BITSHIFT(6, -2, TRUE)", "-9223372036854775807"},
		{"BITSHIFT(6, 4, TRUE)", "96"}, {"BITSHIFT(-1, -63)", "1"}, {"BITSHIFT(1, 64)", "0"}, {"BITSHIFT(-1, -64)", "0"},
		{"BITSHIFT(1, 65, TRUE)", "2"}, {"BITSHIFT(1, 1, 'x')", "null"}, {"BITSHIFT(1, 1.5)", "null"},
		{"BITTEST(6, 1)", "false"}, {"BITTEST(6, [2, 3])", "true"}, {"BITTEST(6, [1, 2])", "true"},
		{"BITTEST(6, [1, 2], TRUE)", "false"}, {"ISBITSET(6, [2, 3], TRUE)", "true"}, {"ISBITSET(6, 0)", "null"},
		{"ISBITSET(6, 2, 1)", "null"}, {"ISBITSET(-1, 64)", "true"},
	})
}
