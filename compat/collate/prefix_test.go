package collate_test

import (
	"bytes"
	"testing"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// FuzzGroupLength checks that keys end where they end, that groups are those of the first elements,
// and that nothing panics.
func FuzzGroupLength(f *testing.F) {
	for _, s := range []string{`null`, `[]`, `[1,-2.5,"a\u0000b",[],{}]`, `{"a":[1e300,-1e-300],"b":{}}`, `12345678901234567890123`, `""`, `[[]]`} {
		f.Add([]byte(s), 1)
		f.Add([]byte(s), 2)
	}
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		collate.GroupLength(text, false, -1)
		collate.GroupLength(text, true, -1)
		v, err := ejson.Parse(text)
		if err != nil || n < 1 || n > 10 {
			return
		}
		for _, raw := range []bool{false, true} {
			appendKey := collate.AppendKey
			if raw {
				appendKey = collate.AppendRawKey
			}
			key := appendKey(nil, v)
			tail := append(bytes.Clone(key), 0x02, 'd', 0)
			if got := collate.GroupLength(tail, raw, -1); got != len(key) {
				t.Errorf("%s: length %d, want %d", text, got, len(key))
			}
			want := len(key)
			if v.Kind() == ejson.Array && v.Len() > 0 {
				want = 1
				i := 0
				for e := range v.Elements() {
					if i++; i <= n {
						want += len(appendKey(nil, e))
					}
				}
				if i < n {
					want = len(key)
				}
			}
			if got := collate.GroupLength(tail, raw, n); got != want {
				t.Errorf("%s: group %d, want %d", text, got, want)
			}
		}
	})
}

// FuzzPrefixEnd checks that strings with a prefix have keys below its end, and those of the next
// letter above it.
func FuzzPrefixEnd(f *testing.F) {
	for _, s := range [][2]string{{"", ""}, {"", "\uffff\uffff"}, {"a", "\u0301"}, {"aB", "\uffffz"}, {"\x01", "~"},
		{"l", "·l"}, {"1", "23"}, {"a ", "日本"}, {"-", "\U0010ffff"}, {"z", "\u0000"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, prefix, rest string) {
		for _, c := range []byte(prefix) {
			if c >= 0x80 {
				return
			}
		}
		key := func(text string) []byte {
			v, err := ejson.Parse(ejson.AppendString(nil, text))
			if err != nil {
				t.Fatal(err)
			}
			return collate.AppendKey(nil, v)
		}
		end := collate.AppendPrefixEnd([]byte("x"), prefix)[1:]
		if bytes.Compare(key(prefix+rest), end) >= 0 {
			t.Errorf("%q is not below the end of %q", prefix+rest, prefix)
		}
		if bytes.Compare(end, key("b"+rest)) > 0 && bytes.HasPrefix([]byte(prefix), []byte("a")) {
			t.Errorf("the end of %q is above b", prefix)
		}
	})
}
