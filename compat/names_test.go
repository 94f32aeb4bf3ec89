package compat

import (
	"errors"
	"strings"
	"testing"
)

func TestValidateDatabaseName(t *testing.T) {
	x := strings.Repeat("x", 300)
	for _, name := range []string{"a", "a/_foo", "a/", "a//x", "a_$()+-/9", "_users", "_replicator", "_global_changes", "_metadata", "_nodes", "a/_users", "a/_nodes", "a/_dbs", "a//_users", x[:238], x[:255] + "/" + x[:238]} {
		if err := ValidateDatabaseName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "A", "1a", "_foo", "_dbs_x", "/a", "a.b", "a b", "é", "aé", "a\n", "_foo/_users", "/_users", "_users/a", "a:b", "a%"} {
		err := ValidateDatabaseName(name)
		e, _ := AsError(err)
		if !errors.Is(err, KindIllegalDatabaseName) ||
			!strings.HasPrefix(e.Reason, "Name: '"+name+"'. Only lowercase characters (a-z), digits") {
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
	if err := ValidateDatabaseName("_dbs"); !errors.Is(err, KindFileExists) {
		t.Error("_dbs", err)
	}
	if ValidatePartitionedName("a/_users") == nil || ValidatePartitionedName("a") != nil {
		t.Error("ValidatePartitionedName")
	}
}

func TestValidateDocID(t *testing.T) {
	plain, limited, partitioned := IDRules{}, IDRules{MaxLength: 4}, IDRules{Partitioned: true}
	tests := []struct {
		id    string
		rules IDRules
		kind  Kind
		want  string
	}{
		{"a", plain, 0, ""}, {"_design/a", plain, 0, ""}, {"_local/a", plain, 0, ""},
		{"a b/\x00é", plain, 0, ""}, {"\xED\xA0\x80", plain, 0, ""}, {"abcd", limited, 0, ""},
		{"", plain, KindIllegalDocID, "Document id must not be empty"},
		{"_design/", plain, KindIllegalDocID, "Illegal document id `_design/`"},
		{"_local/", plain, KindIllegalDocID, "Illegal document id `_local/`"},
		{"_a", plain, KindIllegalDocID, "Only reserved document ids may start with underscore."},
		{"_design", plain, KindIllegalDocID, "Only reserved document ids may start with underscore."},
		{"\xff", plain, KindIllegalDocID, "Document id must be valid UTF-8"},
		{"\xC0\x80", plain, KindIllegalDocID, "Document id must be valid UTF-8"},
		{"a\xE2\x82", plain, KindIllegalDocID, "Document id must be valid UTF-8"},
		{"a\xE2\x82a", plain, KindIllegalDocID, "Document id must be valid UTF-8"},
		{"abcde", limited, KindIllegalDocID, "Document id is too long"},
		{"a:b", partitioned, 0, ""},
		{"a::x", partitioned, 0, ""},
		{"a:b:c", partitioned, 0, ""},
		{"_design/x", partitioned, 0, ""},
		{"_local/x", partitioned, 0, ""},
		{"a", partitioned, KindIllegalDocID, "Doc id must be of form partition:id"},
		{":a", partitioned, KindIllegalPartition, "Partition must not be empty"},
		{"a:", partitioned, KindIllegalDocID, "Document id must not be empty"},
		{"_a:b", partitioned, KindIllegalDocID, "Only reserved document ids may start with underscore."},
		{"a:_b", partitioned, KindIllegalDocID, "Only reserved document ids may start with underscore."},
	}
	for _, tt := range tests {
		err := ValidateDocID(tt.id, tt.rules)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%q: %v", tt.id, err)
			}
			continue
		}
		if e, _ := AsError(err); e == nil || e.Kind != tt.kind || e.Reason != tt.want {
			t.Errorf("%q: %v, want %s", tt.id, err, tt.want)
		}
	}
}

func TestPartitionsAndAttachmentNames(t *testing.T) {
	for name, want := range map[string]string{
		"": "Partition must not be empty", "_x": "Partition must not start with an underscore", "a:b": "Partition must not contain a colon",
		"\xff": "Partition must be valid UTF-8", "a b/é": "",
	} {
		e, ok := AsError(ValidatePartition(name))
		if ok != (want != "") || ok && (e.Reason != want || e.Kind != KindIllegalPartition) {
			t.Errorf("ValidatePartition(%q) = %v", name, e)
		}
	}
	for name, want := range map[string]string{
		"f": "", "a/b": "", "": "", "_f": "Attachment name '_f' starts with prohibited character '_'", "\xff": "Attachment name is not UTF-8 encoded",
	} {
		e, ok := AsError(ValidateAttachmentName(name))
		if ok != (want != "") || ok && (e.Reason != want || e.Kind != KindBadRequest) {
			t.Errorf("ValidateAttachmentName(%q) = %v", name, e)
		}
	}
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
