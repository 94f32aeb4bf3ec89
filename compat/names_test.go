package compat

import (
	"errors"
	"strings"
	"testing"
	"time"
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

// TestSinceTime: what has the form of a time is one or refused as such, what has another form is no
// time.
func TestSinceTime(t *testing.T) {
	for in, want := range map[string]int64{
		"2026-11-27T12:34:56Z": 1795782896, "1970-01-01T00:00:00Z": 0, "1969-12-31T23:59:59Z": 0,
		"0000-01-01T00:00:00Z": 0, "9999-12-31T23:59:59Z": 253402300799, "2000-02-29T00:00:00Z": 951782400,
		"2026-11-27T24:00:00Z": 1795824000, "2026-11-27T12:60:00Z": 1795784400, "2026-11-27T12:00:60Z": 1795780860,
		"2026-11-+7T00:00:-1Z": 1794009599,
	} {
		got, err := ParseSince(in)
		if err != nil || got != (Since{Timed: true, Time: want}) {
			t.Errorf("ParseSince(%s) = %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"2026-13-01T00:00:00Z", "2001-02-29T00:00:00Z", "-001-01-01T00:00:00Z",
		"2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01Tab:00:00Z", "2026-01-01T00:00: 0Z",
		"????-??-??T??:??:??Z", "2026-01-32T00:00:00Z"} {
		if _, err := ParseSince(in); err != ErrInvalidTime {
			t.Errorf("ParseSince(%s): %v", in, err)
		}
	}
	for _, in := range []string{"2026-01-01T00:00:00", "2026-01-01t00:00:00Z", "2026-01-01T00:00:00z",
		"2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00.0Z", "2026-01-01", "2026-01-01 00:00:00Z",
		`"2026-01-01T00:00:00Z"`, " 2026-01-01T00:00:00Z"} {
		if _, err := ParseSince(in); err != ErrMalformedSeq {
			t.Errorf("ParseSince(%s): %v", in, err)
		}
	}
}

// FuzzSinceTime: what Go reads as a time of this form means the same here.
func FuzzSinceTime(f *testing.F) {
	f.Add("2026-11-27T12:34:56Z")
	f.Add("2026-02-30T24:60:60Z")
	f.Add("-001-+1-+1T-1:-1:-1Z")
	f.Fuzz(func(t *testing.T, text string) {
		since, err := ParseSince(text)
		timed := since.Timed || err == ErrInvalidTime
		if since.Timed && (err != nil || since.Time < 0) || hasTimeForm(text) != timed {
			t.Errorf("%q: %v, %v", text, since, err)
		}
		want, err := time.Parse("2006-01-02T15:04:05Z", text)
		if err == nil && len(text) == len(timeForm) && since.Time != max(want.Unix(), 0) {
			t.Errorf("%q: %d, want %d", text, since.Time, want.Unix())
		}
	})
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
