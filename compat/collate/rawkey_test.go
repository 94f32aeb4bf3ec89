package collate

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestRawKeysCompareAsValues(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := parsed(t, anyJSON(3).Draw(rt, "a")), parsed(t, anyJSON(3).Draw(rt, "b"))
		want := CompareRaw(a, b)
		ka, kb := AppendRawKey(nil, a), AppendRawKey(nil, b)
		if got := bytes.Compare(ka, kb); got != want {
			rt.Fatalf("%s and %s compare %d, keys %x and %x %d", a.Raw(), b.Raw(), want, ka, kb, got)
		}
		if want != 0 && (bytes.HasPrefix(ka, kb) || bytes.HasPrefix(kb, ka)) {
			rt.Fatalf("one key of %s and %s is a prefix of the other", a.Raw(), b.Raw())
		}
	})
}
