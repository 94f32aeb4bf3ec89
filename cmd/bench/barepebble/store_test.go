package barepebble

import (
	"testing"
)

func TestCommittedPairsSurviveReopening(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit([][]byte{[]byte("a"), []byte("b")}, [][]byte{[]byte("1"), []byte("2")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for key, want := range map[string]string{"a": "1", "b": "2"} {
		value, closer, err := s.db.Get([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		if string(value) != want {
			t.Errorf("%s = %q instead of %q", key, value, want)
		}
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
	}
}
