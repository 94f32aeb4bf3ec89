package ejson

import "testing"

// TestRepairUTF8: the results are those of jiffy_utf8:fix.
func TestRepairUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"a\xed\xa0\x80b":           `"a\uFFFDb"`,
		"\xed\xa0\xbd\xed\xb8\x80": `"😀"`,
		"\xed\xb8\x80\xed\xa0\xbd": `"\uFFFD\uFFFD"`,
		"\xff\x80\x80x":            `"\uFFFDx"`,
		"\xc3":                     `"\uFFFD"`,
		"\xe2\x82":                 `"\uFFFD"`,
		"\xc0\x80":                 `"\u0000"`,
		"\xf4\x90\x80\x80":         `"\uFFFD"`,
		"é\xff\"":                  `"é\uFFFD\""`,
	} {
		want = decodeFFFD(want)
		if got := string(AppendString(nil, in)); got != want {
			t.Errorf("AppendString(%q) = %s, want %s", in, got, want)
		}
	}
}

func decodeFFFD(s string) string {
	out := ""
	for i := 0; i < len(s); i++ {
		if i+6 <= len(s) && s[i:i+6] == `\uFFFD` {
			out += "\uFFFD"
			i += 5
			continue
		}
		out += s[i : i+1]
	}
	return out
}
