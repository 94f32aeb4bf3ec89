package storagetest

import (
	"fmt"
	"strings"

	"github.com/settee-db/settee/compat"
)

// Doc makes a document as a request brings it. rev is the revision that an edit replaces, or for
// replicated ones the newest and, after commas, the hashes of its ancestors; empty for a new
// document. An empty body makes a tombstone.
func Doc(t T, id, rev, body string) *compat.Document {
	t.Helper()
	d := &compat.Document{ID: id, HasID: true, Revs: Path(t, rev), Deleted: body == ""}
	if d.Deleted {
		body = "{}"
	}
	var err error
	d.Body, err = compat.NewBody([]byte(body))
	Must(t, err)
	return d
}

// Path reads a line of revisions: `3-c,b,a` is revision 3-c with its ancestors 2-b and 1-a.
func Path(t T, text string) compat.RevPath {
	t.Helper()
	if text == "" {
		return compat.RevPath{}
	}
	parts := strings.Split(text, ",")
	newest, err := compat.ParseRev(parts[0])
	Must(t, err)
	p := compat.RevPath{Start: newest.Pos, IDs: []string{newest.Hash}}
	for i, hash := range parts[1:] {
		rev, err := compat.ParseRev(fmt.Sprintf("%d-%s", newest.Pos-int64(i)-1, hash))
		Must(t, err)
		p.IDs = append(p.IDs, rev.Hash)
	}
	return p
}
