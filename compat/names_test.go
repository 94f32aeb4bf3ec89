package compat

import (
	"errors"
	"strings"
	"testing"
)

// TestLongDatabaseNames: other names are in testdata/cases/names.
func TestLongDatabaseNames(t *testing.T) {
	x := strings.Repeat("x", 300)
	for _, name := range []string{x[:238], x[:255] + "/" + x[:238]} {
		if err := ValidateDatabaseName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{x[:239], x[:256] + "/a", "a/" + x[:256] + "/b", "a/" + x[:239]} {
		err := ValidateDatabaseName(name)
		e, _ := AsError(err)
		if !errors.Is(err, KindDatabaseNameTooLong) ||
			e.Reason != "At least one path segment of `"+name+"` is too long." {
			t.Errorf("%q: %v", name, err)
		}
	}
	if ValidatePartitionedName("a/_users") == nil || ValidatePartitionedName("a") != nil {
		t.Error("ValidatePartitionedName")
	}
}

func TestSplitPartition(t *testing.T) {
	if p, rest, err := SplitPartition("a:b:c"); p != "a" || rest != "b:c" || err != nil {
		t.Error("SplitPartition")
	}
}

func TestSeq(t *testing.T) {
	s := Seq{Incarnation: 255, Versionstamp: [12]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}
	text := string(AppendSeq(nil, 42, s))
	opaque := strings.TrimPrefix(text, "42-")
	if len(opaque) != 19 || len(text) != 22 {
		t.Fatalf("AppendSeq = %s", text)
	}
	for _, in := range []string{text, opaque, `"` + text + `"`, "99-" + opaque, `"` + opaque + `"`, "0-" + opaque} {
		if got, err := ParseSince(in); err != nil || got != (Since{Seq: s}) {
			t.Errorf("ParseSince(%s) = %v, %v", in, got, err)
		}
	}
	for in, want := range map[string]Since{"0": {}, "now": {Now: true}} {
		if got, err := ParseSince(in); err != nil || got != want {
			t.Errorf("ParseSince(%s) = %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "00", `"0"`, "NOW", "5", "abc", "-1", "1-", "1-abc", "null", "[1,2]", `"now"`, text + "A", text[:len(text)-1], text + "=", "42-" + strings.Repeat("+", 18), "x-" + opaque} {
		if got, err := ParseSince(in); err != ErrMalformedSeq {
			t.Errorf("ParseSince(%s) = %v, %v", in, got, err)
		}
	}
}

func FuzzParseSeq(f *testing.F) {
	f.Add("42-AAECAwQFBgcICQoLDA", "a", "a:b")
	f.Fuzz(func(t *testing.T, text, name, id string) {
		if s, ok := ParseSeq(text); ok {
			if again, ok := ParseSeq(string(AppendSeq(nil, 1, s))); !ok || again != s {
				t.Errorf("%q is read as %v, written and read as %v", text, s, again)
			}
		}
		if ValidateDatabaseName(name) == nil && (name == "" || len(name) > 10_000 && !strings.Contains(name, "/")) {
			t.Errorf("%q is legal", name)
		}
		if ValidateDocID(id, IDRules{Partitioned: true}) == nil && ValidateDocID(id, IDRules{}) != nil {
			t.Errorf("%q is legal in a partitioned database only", id)
		}
	})
}
