package conformance

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// crashLeaf is what a writer knows of one leaf revision.
type crashLeaf struct {
	Deleted bool
	Marker  string            // the member "marker"
	Atts    map[string]string // name -> contentTag
}

func (l crashLeaf) equal(m crashLeaf) bool {
	return l.Deleted == m.Deleted && l.Marker == m.Marker && maps.Equal(l.Atts, m.Atts)
}

// contentTag stands for an attachment's bytes.
func contentTag(content []byte) string {
	sum := md5.Sum(content)
	return fmt.Sprintf("%d md5-%s", len(content), base64.StdEncoding.EncodeToString(sum[:]))
}

// crashChange is a write of one document: a new leaf in the place of another, or only the removal
// of one.
type crashChange struct {
	replaces string // a leaf's revision, "" for none
	purge    bool
	rev      string // of the new leaf; "" if the server makes it
	leaf     crashLeaf
}

// crashDoc is what a writer knows of one of its documents.
type crashDoc struct {
	leaves  map[string]crashLeaf // by revision
	unsure  *crashChange         // the write that was not answered: it may have happened
	touched bool                 // since it was verified last
}

// winner is the winning revision, "" if the document does not exist.
func (d *crashDoc) winner() string {
	best := ""
	for rev, leaf := range d.leaves {
		if best == "" || wins(rev, leaf.Deleted, best, d.leaves[best].Deleted) {
			best = rev
		}
	}
	return best
}

func wins(rev string, deleted bool, other string, otherDeleted bool) bool {
	if deleted != otherDeleted {
		return otherDeleted
	}
	if a, b := generation(rev), generation(other); a != b {
		return a > b
	}
	return rev > other // of the same generation: the hashes compare as text
}

func (d *crashDoc) live() bool { return d.winner() != "" && !d.leaves[d.winner()].Deleted }

// apply makes the change, whose new leaf got the revision.
func (d *crashDoc) apply(ch *crashChange, rev string) {
	d.leaves = ch.result(d.leaves, rev)
	d.unsure, d.touched = nil, true
}

func (ch *crashChange) result(leaves map[string]crashLeaf, rev string) map[string]crashLeaf {
	out := maps.Clone(leaves)
	if out == nil {
		out = map[string]crashLeaf{}
	}
	delete(out, ch.replaces)
	if !ch.purge {
		out[rev] = ch.leaf
	}
	return out
}

// resolve compares the leaves found after a crash with what is known, and takes them over. It
// returns what is wrong.
func (d *crashDoc) resolve(found map[string]crashLeaf) error {
	if sameLeaves(found, d.leaves) {
		d.unsure = nil
		return nil
	}
	if ch := d.unsure; ch != nil {
		for rev := range found {
			if _, old := d.leaves[rev]; old || ch.purge || ch.rev != "" && ch.rev != rev ||
				ch.rev == "" && generation(rev) != generation(ch.replaces)+1 {
				continue
			}
			if sameLeaves(found, ch.result(d.leaves, rev)) {
				d.apply(ch, rev)
				return nil
			}
		}
		if ch.purge && sameLeaves(found, ch.result(d.leaves, "")) {
			d.apply(ch, "")
			return nil
		}
		return fmt.Errorf("neither as it was nor as an unanswered write would have it:\nfound %s\nknew  %s\nwrite %+v",
			describe(found), describe(d.leaves), *ch)
	}
	return fmt.Errorf("not as acknowledged:\nfound %s\nknew  %s", describe(found), describe(d.leaves))
}

func sameLeaves(a, b map[string]crashLeaf) bool { return maps.EqualFunc(a, b, crashLeaf.equal) }

func describe(leaves map[string]crashLeaf) string {
	var b strings.Builder
	for rev, leaf := range leaves {
		fmt.Fprintf(&b, "%s %+v; ", rev, leaf)
	}
	return b.String()
}

func generation(rev string) int {
	n, _ := strconv.Atoi(strings.Split(rev, "-")[0]) // no revision: 0
	return n
}

// content is text that a revision's attachment holds: it repeats badly, so that every byte matters.
func content(seed string, size int) []byte {
	var b bytes.Buffer
	sum := md5.Sum([]byte(seed))
	for b.Len() < size {
		b.Write(sum[:])
		sum = md5.Sum(sum[:])
	}
	return b.Bytes()[:size]
}
