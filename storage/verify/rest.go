package verify

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"hash"
	"maps"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// checkCounters compares the counters with the documents.
func (c *dbCheck) checkCounters(d *docread.Reader) error {
	compared := [...]struct {
		n         keyspace.Stat
		invariant int
		name      string
	}{{keyspace.DocCount, 5, "doc_count"}, {keyspace.DelCount, 5, "doc_del_count"},
		{keyspace.ExternalSize, 15, "external size"}, {keyspace.ActiveSize, 15, "active size"},
		{keyspace.HistorySize, 13, "size of replaced revisions"},
		{keyspace.HistoryRows, 13, "number of replaced revisions"}}
	var all []keyspace.Stat
	for _, s := range compared {
		all = append(all, s.n)
	}
	stored, err := d.Stats(all...)
	if err != nil {
		return err
	}
	for i, s := range compared {
		if want := c.docs.sums[s.n]; stored[i] != want {
			c.sum(s.invariant, "", "%s is %d, should be %d", s.name, stored[i], want)
		}
	}
	return c.checkPartitions(d)
}

// checkPartitions compares the counters of the partitions.
func (c *dbCheck) checkPartitions(d *docread.Reader) error {
	stored := c.rest.partitions
	err := d.Walk(d.Keys.Sub(nil, keyspace.TagPartStats), &c.rest.counters, func(suffix, value []byte) error {
		name, rest, err := tuple.ReadString(suffix)
		if err != nil {
			return keyspace.Corrupt("partition counter", err)
		}
		n, _, err := tuple.ReadInt(rest)
		if err != nil || n < 0 || n >= int64(keyspace.StatCount) {
			return keyspace.Corrupt("partition counter", err)
		}
		if stored[name] == nil {
			stored[name] = new(keyspace.StatDelta)
		}
		stored[name][n] = keyspace.Counter(value)
		return nil
	})
	if err != nil {
		return err
	}
	// What is found is taken out of the map, so that the counters that stay have no documents.
	for name, want := range c.docs.parts {
		if got := stored[name]; got == nil || *got != *want {
			c.sum(15, name, "counters of the partition are %v, should be %v", got, *want)
		}
		delete(stored, name)
	}
	// All zero is what deletions leave behind, and is no fault.
	for name, got := range stored {
		if *got != (keyspace.StatDelta{}) {
			c.sum(15, name, "counters of a partition without documents: %v", *got)
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
	// table is that of the members of a body, which is kept to be compared with it.
	table, body []byte
}

// checkRefs compares the reference counts with the entries.
func (c *dbCheck) checkRefs(d *docread.Reader) error {
	a := &c.atts
	if a.seen == nil {
		a.seen = make(map[string]bool)
	}
	err := d.Walk(d.Keys.Sub(nil, keyspace.TagAttRefs), &a.refs, func(suffix, value []byte) error {
		ref, _, err := tuple.ReadBytes(suffix)
		if err != nil {
			return keyspace.Corrupt("attachment id", err)
		}
		a.seen[string(ref)] = true
		use := c.docs.refs[string(ref)]
		switch {
		case use == nil:
			c.sum(7, fmt.Sprintf("%x", ref), "attachment has the count %d, but no entry names it",
				keyspace.Counter(value))
		case use.count != keyspace.Counter(value):
			c.sum(7, use.id, "attachment %x has the count %d, but %d entries name it", ref,
				keyspace.Counter(value), use.count)
		}
		return nil
	})
	if err != nil {
		return err
	}
	// In the order of the references, so that two checks of the same store print the same.
	for _, ref := range slices.Sorted(maps.Keys(c.docs.refs)) {
		if !a.seen[ref] {
			c.sum(7, c.docs.refs[ref].id, "attachment %x has no count", ref)
		}
	}
	return nil
}

// checkPending reads the uploads that wait for their documents.
func (c *dbCheck) checkPending(d *docread.Reader) error {
	a := &c.atts
	if a.pending == nil {
		a.pending = make(map[string]bool)
	}
	return d.Walk(d.Keys.Sub(nil, keyspace.TagAttPending), &a.pendings, func(suffix, _ []byte) error {
		ref, _, err := tuple.ReadBytes(suffix)
		if err != nil {
			return keyspace.Corrupt("attachment id", err)
		}
		a.pending[string(ref)] = true
		if a.seen[string(ref)] {
			c.sum(7, fmt.Sprintf("%x", ref), "attachment is pending, but has a count")
		}
		return nil
	})
}

// checkBytes reads the bytes of all attachments.
func (c *dbCheck) checkBytes(d *docread.Reader) error {
	a := &c.atts
	if a.found == nil {
		a.found = make(map[string]bool)
	}
	err := d.Walk(d.Keys.Sub(nil, keyspace.TagAtt), &a.chunks, func(suffix, value []byte) error {
		ref, rest, err := tuple.ReadBytes(suffix)
		if err != nil {
			return keyspace.Corrupt("attachment id", err)
		}
		n, _, err := tuple.ReadInt(rest)
		if err != nil {
			return keyspace.Corrupt("attachment chunk", err)
		}
		// The chunks of an attachment follow each other, those of the next one begin where the
		// reference changes: one is in memory at a time.
		if a.at == nil || a.at.ref != string(ref) {
			c.endBytes()
			a.at = &attachmentBytesCheck{ref: string(ref), digest: md5.New()}
			a.found[a.at.ref] = true
		}
		at := a.at
		if n == formats.MembersChunk {
			at.table = bytes.Clone(value)
			return nil
		}
		if at.table != nil {
			at.body = append(at.body, value...)
		}
		at.broken = at.broken || n != at.next || at.short || len(value) == 0 || len(value) > keyspace.MaxValue
		// Every chunk but the last one is full, so that one after a short one means that a chunk is
		// missing.
		at.short = len(value) != keyspace.MaxValue
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
			c.sum(7, use.id, "the bytes of attachment %x are gone", ref)
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
		c.sum(7, fmt.Sprintf("%x", at.ref), "bytes of an attachment that no entry names")
	// A sum, since an upload that is running writes chunk by chunk.
	case at.broken:
		c.sum(7, fmt.Sprintf("%x", at.ref), "chunks of an attachment are missing")
	case use != nil && (use.length != at.length || [md5.Size]byte(at.digest.Sum(nil)) != use.digest):
		c.violation(7, use.id, "the bytes of attachment %x are not those of its digest", at.ref)
	case at.table != nil && !bytes.Equal(at.table, formats.MembersTable(at.body)):
		c.sum(7, fmt.Sprintf("%x", at.ref), "the table of the members of a body is not that of the body")
	}
	c.atts.at = nil
}

// restCheck are the phases of what has nothing to do with documents.
type restCheck struct {
	partitions               map[string]*keyspace.StatDelta
	counters, locals, purges []byte // cursors
	local                    localCheck
	purgeRows                int64
}

// localCheck is the local document whose chunks are being read.
type localCheck struct {
	id     string
	body   []byte
	length int
}

// checkLocals reads all local documents.
func (c *dbCheck) checkLocals(d *docread.Reader) error {
	l := &c.rest.local
	err := d.Walk(d.Keys.Sub(nil, keyspace.TagLocal), &c.rest.locals, func(suffix, value []byte) error {
		id, chunk, err := tuple.ReadString(suffix)
		if err != nil {
			return keyspace.Corrupt("local document's key", err)
		}
		if len(chunk) > 0 {
			// The head of a document comes before its chunks.
			if id != l.id {
				c.violation(12, id, "chunk of a local document that is not there")
				return nil
			}
			l.body = append(l.body, value...)
			return nil
		}
		c.endLocal()
		_, body, chunked, length, err := formats.ParseLocal(value)
		if err != nil {
			c.violation(12, id, "local document cannot be read: %v", err)
			return nil
		}
		if !chunked {
			length = len(body)
		}
		*l = localCheck{id: id, body: append(l.body[:0], body...), length: length}
		return nil
	})
	if err == nil {
		c.endLocal()
	}
	return err
}

// endLocal checks the local document that was read last. One that was written while its chunks were
// read is not.
func (c *dbCheck) endLocal() {
	l := &c.rest.local
	if l.id != "" && (len(l.body) != l.length || !isObject(l.body)) {
		c.violation(12, l.id, "local document cannot be read: %d bytes of %d", len(l.body), l.length)
	}
	*l = localCheck{body: l.body[:0]}
}

// checkRest reads what is left: the purge requests, the security object.
func (c *dbCheck) checkRest(d *docread.Reader) error {
	value, err := d.R.Get(d.Keys.Sub(nil, keyspace.TagPurgeSeq))
	if err != nil {
		return err
	}
	var newest compat.Seq
	if value != nil {
		if newest, err = keyspace.ParseSeq(value); err != nil {
			return err
		}
	}
	err = d.Walk(d.Keys.Sub(nil, keyspace.TagPurges), &c.rest.purges, func(suffix, value []byte) error {
		seq, err := keyspace.ParseSeq(suffix)
		if err != nil {
			return err
		}
		c.rest.purgeRows++
		id, _, err := formats.ParsePurge(value)
		if err != nil || newest.Before(seq) {
			c.violation(12, id, "purge request at %x, the last one is %x: %v", seq, newest, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	counts, err := d.Stats(keyspace.Purges)
	if err != nil {
		return err
	}
	if rows := c.rest.purgeRows; counts[0] < rows {
		c.sum(12, "", "%d purge requests, but %d are remembered", counts[0], rows)
	}
	return c.checkSettings(d)
}

// checkSettings checks the security object, and that there is a stamp where there are design
// documents.
func (c *dbCheck) checkSettings(d *docread.Reader) error {
	stored, err := d.StoredSecurity()
	if err != nil {
		return err
	}
	if stored != nil {
		security, err := d.SecurityText(stored)
		if err != nil {
			return err
		}
		if !isObject(security) {
			c.violation(12, "_security", "is no JSON object")
		}
	}
	// Without a stamp caches of design documents would never notice that there are some.
	stamp, err := d.R.Get(d.Keys.Sub(nil, keyspace.TagDesigns))
	if err != nil || len(stamp) > 0 {
		return err
	}
	prefix := d.Keys.Sub(nil, keyspace.TagAllDocs)
	begin, end := d.Keys.AllDocs(nil, compat.DesignPrefix), kv.AppendPrefixEnd(nil, prefix)
	it := d.R.Range(begin, end, kv.RangeOptions{Limit: 1})
	defer it.Close()
	if it.Next() {
		id, _, err := tuple.ReadString(it.Key()[len(prefix):])
		if err != nil {
			return keyspace.Corrupt("list of ids", err)
		}
		if compat.IsDesignID(id) {
			c.violation(3, id, "is listed, but no design document was ever changed")
		}
	}
	return it.Err()
}
