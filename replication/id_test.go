package replication

import (
	"testing"

	"github.com/settee-db/settee/compat/ejson"
)

// TestIDs holds ids of a real CouchDB 3.5.0 with the uuid below.
func TestIDs(t *testing.T) {
	set := DefaultSettings()
	set.UUID = "00112233445566778899aabbccddeeff"
	set.NormalizeSelector = func(ejson.Value) ([]byte, error) {
		return []byte(`{"$and":[{"b":{"$eq":1}},{"a":{"$gt":2}}]}`), nil
	}
	for _, c := range []struct{ source, more, id string }{
		{`"http://u:p@src.invalid:5984/db"`, ``, "d3bdf3d7ab905de9c764d1d70a9d660d+continuous"},
		{`"http://u:other@src.invalid:5984/db/"`, ``, "d3bdf3d7ab905de9c764d1d70a9d660d+continuous"},
		{`{"url":"http://src.invalid:5984/db","auth":{"basic":{"username":"u","password":"x"}}}`, ``, "d3bdf3d7ab905de9c764d1d70a9d660d+continuous"},
		{`"http://src.invalid:5984/db"`, ``, "016b3d1dd70bd950c89be4f144a86f69+continuous"},
		{`"https://src.invalid/db"`, ``, "016b3d1dd70bd950c89be4f144a86f69+continuous"},
		{`"http://src.invalid:5985/db"`, ``, "f8e6761631f74827c2c55455ffb4349c+continuous"},
		{`"http://u:p@src.invalid:5984/db"`, `,"create_target":true`, "d3bdf3d7ab905de9c764d1d70a9d660d+continuous+create_target"},
		{`"http://u:p@src.invalid:5984/db"`, `,"doc_ids":["b","a","a"]`, "45a27d3f521e6e6848dbf7255b60454e+continuous"},
		{`"http://u:p@src.invalid:5984/db"`, `,"doc_ids":["a%20b"]`, "d70d0a4792ce7a0edb32c6df078c7162+continuous"},
		{`"http://u:p@src.invalid:5984/db"`, `,"selector":{"b":1,"a":{"$gt":2}}`, "40e924e050c01e8e6e1fd92202a3b60d+continuous"},
		{`"http://u:p@src.invalid:5984/db"`, `,"filter":"_view","query_params":{"view":"d/v","x":"1"}`, "3c8c94c51fe484dbd86e9672bc6d6454+continuous"},
		{`"http://u:p@src.invalid:5984/db"`, `,"winning_revs_only":true`, "344a1dd0f906d5d4fcd02323e756ad40+continuous"},
		{`"http://u:p@src.invalid:5984/db"`, `,"winning_revs_only":false`, "d3bdf3d7ab905de9c764d1d70a9d660d+continuous"},
	} {
		doc, err := ejson.Parse(
			[]byte(
				`{"source":` + c.source + `,"target":"http://tgt.invalid:5984/db2","continuous":true` + c.more + `}`,
			),
		)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseSpec(doc, &set)
		if err != nil {
			t.Errorf("%s%s: %v", c.source, c.more, err)
			continue
		}
		if s.SetID(&set, ""); s.ID.String() != c.id {
			t.Errorf("%s%s: id %s, not %s", c.source, c.more, s.ID, c.id)
		}
	}
}

// TestSinceSeqIDs holds ids of a CouchDB main (a6778e5d4) with the uuid below: since_seq is in
// them, as it was given.
func TestSinceSeqIDs(t *testing.T) {
	set := DefaultSettings()
	set.UUID = "fake_uuid_for_dev"
	for more, id := range map[string]string{
		``:                                    "cd341d0e8a66e8d0dfd6937b832e7414",
		`,"since_seq":5`:                      "6ef84b14789923266361bc3686c5d2dd",
		`,"since_seq":"5"`:                    "97773dc5755c8494aabba9ff4642d9c7",
		`,"since_seq":0`:                      "4a1c5b82978807bea71f69444a60b2a0",
		`,"since_seq":null`:                   "4ce1450f25975a422f35a89900567511",
		`,"since_seq":{"a":1.5}`:              "96de8db7ef22712265f5e6e89772da1e",
		`,"since_seq":"2026-01-01T00:00:00Z"`: "0fe89457fde2347e8e5a38283d04bc1d",
		`,"since_seq":"now","doc_ids":["a"]`:  "8e7a85b202fa526c7ef3a653b34a7391",
		`,"winning_revs_only":true,"since_seq":[1,"x"]`: "fa6b6be278251847409fe4db02795963",
	} {
		doc, err := ejson.Parse([]byte(
			`{"source":"http://u:p@src.invalid:5984/db","target":"http://tgt.invalid:5984/db2"` + more + `}`))
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseSpec(doc, &set)
		if err != nil {
			t.Fatal(err)
		}
		if s.SetID(&set, ""); s.ID.Base != id {
			t.Errorf("%s: id %s, not %s", more, s.ID, id)
		}
	}
}

// TestTrimFilter: a CouchDB 3.5.0 gave the same replication ids for these and for what they become.
func TestTrimFilter(t *testing.T) {
	for code, want := range map[string]string{
		"": "", "  ": "", "  \n": "\n", " f ": "f", "f \n": "f\n", "\tf\t": "\tf\t", " f\r\n": "f\r\n",
		"\n f": "\n f", "{\n} ": "{\n} ", "f\n\n": "f\n\n", " f\u00a0 ": "f\u00a0",
	} {
		if got := trimFilter(code); got != want {
			t.Errorf("%q gives %q, not %q", code, got, want)
		}
	}
}
