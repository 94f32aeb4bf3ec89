package storage

import (
	"crypto/md5"
	"fmt"
	"hash"
	"maps"
	"slices"

	"github.com/settee-db/settee/storage/kv"
)

// checkCounters compares the counters with the documents.
func (c *dbCheck) checkCounters(d *dbRead) error {
	stored, err := d.stats(statDocCount, statDelCount, statExternal, statActive, statHistory, statHistoryRows)
	if err != nil {
		return err
	}
	for i, s := range [...]struct {
		n         stat
		invariant int
		name      string
	}{{statDocCount, 5, "doc_count"}, {statDelCount, 5, "doc_del_count"}, {statExternal, 15, "external size"},
		{statActive, 15, "active size"}, {statHistory, 13, "size of replaced revisions"}, {statHistoryRows, 13, "number of replaced revisions"}} {
		if want := c.docs.sums[s.n]; stored[i] != want {
			c.violation(s.invariant, "", "%s is %d, should be %d", s.name, stored[i], want)
		}
	}
	return c.checkPartitions(d)
}

// checkPartitions compares the counters of the partitions.
func (c *dbCheck) checkPartitions(d *dbRead) error {
	stored := make(map[string]*statDelta)
	var cursor []byte
	err := walk(d, d.keys.sub(nil, TagPartStats), &cursor, func(suffix, value []byte) error {
		name, rest, err := kv.ReadString(suffix)
		if err != nil {
			return corrupt("partition counter", err)
		}
		n, _, err := kv.ReadInt(rest)
		if err != nil || n < 0 || n >= int64(statCount) {
			return corrupt("partition counter", err)
		}
		if stored[name] == nil {
			stored[name] = new(statDelta)
		}
		stored[name][n] = counter(value)
		return nil
	})
	if err != nil {
		return err
	}
	for name, want := range c.docs.parts {
		if got := stored[name]; got == nil || *got != *want {
			c.violation(15, name, "counters of the partition are %v, should be %v", got, *want)
		}
		delete(stored, name)
	}
	for name, got := range stored {
		if *got != (statDelta{}) {
			c.violation(15, name, "counters of a partition without documents: %v", *got)
		}
	}
	return nil
}

// attsCheck are the phases of the attachments.
type attsCheck struct {
	refs, pendings, chunks []byte // cursors
	pending                map[string]bool
	seen                   map[string]bool // ids with a stored count
	at                     *attachmentBytesCheck
	found                  map[string]bool // ids with bytes
}

// attachmentBytesCheck is the attachment whose chunks are being read.
type attachmentBytesCheck struct {
	ref    string
	next   int64
	length int64
	digest hash.Hash
	short  bool // a chunk was not full
	broken bool
}

// checkRefs compares the reference counts with the entries.
func (c *dbCheck) checkRefs(d *dbRead) error {
	a := &c.atts
	if a.seen == nil {
		a.seen = make(map[string]bool)
	}
	err := walk(d, d.keys.sub(nil, TagAttRefs), &a.refs, func(suffix, value []byte) error {
		ref, _, err := kv.ReadBytes(suffix)
		if err != nil {
			return corrupt("attachment id", err)
		}
		a.seen[string(ref)] = true
		use := c.docs.refs[string(ref)]
		switch {
		case use == nil:
			c.violation(7, fmt.Sprintf("%x", ref), "attachment has the count %d, but no entry names it", counter(value))
		case use.count != counter(value):
			c.violation(7, use.id, "attachment %x has the count %d, but %d entries name it", ref, counter(value), use.count)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, ref := range slices.Sorted(maps.Keys(c.docs.refs)) {
		if !a.seen[ref] {
			c.violation(7, c.docs.refs[ref].id, "attachment %x has no count", ref)
		}
	}
	return nil
}

// checkPending reads the uploads that wait for their documents.
func (c *dbCheck) checkPending(d *dbRead) error {
	a := &c.atts
	if a.pending == nil {
		a.pending = make(map[string]bool)
	}
	return walk(d, d.keys.sub(nil, TagAttPending), &a.pendings, func(suffix, _ []byte) error {
		ref, _, err := kv.ReadBytes(suffix)
		if err != nil {
			return corrupt("attachment id", err)
		}
		a.pending[string(ref)] = true
		if a.seen[string(ref)] {
			c.violation(7, fmt.Sprintf("%x", ref), "attachment is pending, but has a count")
		}
		return nil
	})
}

// checkBytes reads the bytes of all attachments.
func (c *dbCheck) checkBytes(d *dbRead) error {
	a := &c.atts
	if a.found == nil {
		a.found = make(map[string]bool)
	}
	err := walk(d, d.keys.sub(nil, TagAtt), &a.chunks, func(suffix, value []byte) error {
		ref, rest, err := kv.ReadBytes(suffix)
		if err != nil {
			return corrupt("attachment id", err)
		}
		n, _, err := kv.ReadInt(rest)
		if err != nil {
			return corrupt("attachment chunk", err)
		}
		if a.at == nil || a.at.ref != string(ref) {
			c.endBytes()
			a.at = &attachmentBytesCheck{ref: string(ref), digest: md5.New()}
			a.found[a.at.ref] = true
		}
		at := a.at
		at.broken = at.broken || n != at.next || at.short || len(value) == 0 || len(value) > maxEntry
		at.short = len(value) != maxEntry
		at.next, at.length = n+1, at.length+int64(len(value))
		at.digest.Write(value)
		return nil
	})
	if err != nil {
		return err
	}
	c.endBytes()
	for _, ref := range slices.Sorted(maps.Keys(c.docs.refs)) {
		if use := c.docs.refs[ref]; use.length > 0 && !a.found[ref] {
			c.violation(7, use.id, "the bytes of attachment %x are gone", ref)
		}
	}
	return nil
}

// endBytes checks the attachment that was read last.
func (c *dbCheck) endBytes() {
	at := c.atts.at
	if at == nil {
		return
	}
	use := c.docs.refs[at.ref]
	switch {
	case use == nil && !c.atts.pending[at.ref]:
		c.violation(7, fmt.Sprintf("%x", at.ref), "bytes of an attachment that no entry names")
	case at.broken:
		c.violation(7, fmt.Sprintf("%x", at.ref), "chunks of an attachment are missing")
	case use != nil && (use.length != at.length || [md5.Size]byte(at.digest.Sum(nil)) != use.digest):
		c.violation(7, use.id, "the bytes of attachment %x are not those of its digest", at.ref)
	}
	c.atts.at = nil
}

// checkLocals reads all local documents.
func (c *dbCheck) checkLocals(d *dbRead) error {
	var own string
	var cursor []byte
	return walk(d, d.keys.sub(nil, TagLocal), &cursor, func(suffix, _ []byte) error {
		id, rest, err := kv.ReadString(suffix)
		if err != nil {
			return corrupt("local document's key", err)
		}
		if len(rest) > 0 {
			if id != own {
				c.violation(12, id, "chunk of a local document that is not there")
			}
			return nil
		}
		own = id
		doc, err := d.openLocal(id, OpenOptions{})
		if err != nil && !isCorrupt(err) {
			return err
		}
		if err != nil || !isObject(doc.Body) {
			c.violation(12, id, "local document cannot be read: %v", err)
		}
		return nil
	})
}

// checkRest reads what is left: the purge requests, the security object.
func (c *dbCheck) checkRest(d *dbRead) error {
	value, err := d.r.Get(d.keys.sub(nil, TagPurgeSeq))
	if err != nil {
		return err
	}
	var newest Seq
	if value != nil {
		if newest, err = parseSeq(value); err != nil {
			return err
		}
	}
	rows := int64(0)
	var cursor []byte
	err = walk(d, d.keys.sub(nil, TagPurges), &cursor, func(suffix, value []byte) error {
		rows++
		seq, err := parseSeq(suffix)
		if err != nil {
			return err
		}
		info, err := parsePurge(value)
		if err != nil || compareSeqs(seq, newest) > 0 {
			c.violation(12, info.ID, "purge request at %x, the last one is %x: %v", seq, newest, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	counts, err := d.stats(statPurges)
	if err != nil {
		return err
	}
	if counts[0] < rows {
		c.violation(12, "", "%d purge requests, but %d are remembered", counts[0], rows)
	}
	security, err := d.security()
	if err == nil && security != nil && !isObject(security) {
		c.violation(12, "_security", "is no JSON object")
	}
	return err
}
