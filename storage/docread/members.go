package docread

import (
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Apart is an entry with a list of attachments or a body under keys of its own, and which members
// of the body are wanted.
type Apart struct {
	*formats.Entry
	Members Members
	part    *bodyPart // nil: the body is read as a whole, if it is
}

// Weight is roughly how many bytes are going to be read for the entry. Where only some members of
// the body are wanted, that is the size of the table of members, since it tells how much of the
// body to read.
func (a *Apart) Weight() int {
	switch {
	case a.Members.None():
		return 0
	case a.hasTable():
		return formats.MaxMembersTable(a.BodyApart.Length)
	}
	return int(a.Size)
}

// hasTable reports whether some members of the body may be found without the others.
func (a *Apart) hasTable() bool {
	return a.Body == nil && a.BodyApart.Length > keyspace.MaxValue && len(a.Members) > 0
}

// readsBody reports whether something of the body is read.
func (a *Apart) readsBody() bool {
	return a.Body == nil && !a.BodyApart.IsZero() && !a.Members.None()
}

// held is how many bytes reading the body takes.
func (a *Apart) held() int {
	switch {
	case a.part != nil:
		return a.part.held()
	case a.readsBody():
		return a.BodyApart.Length
	}
	return 0
}

// locate finds out where in bodies the members are that are wanted, by the tables of members. It
// takes a round trip where there are such bodies.
func (d *Reader) locate(beside int, list []Apart) error {
	var keys [][]byte
	var of []*Apart
	for i := range list {
		if a := &list[i]; a.hasTable() {
			beside += formats.MaxMembersTable(a.BodyApart.Length)
			key := d.Keys.Attachment(nil, keyspace.TagAtt, a.BodyApart.Ref)
			keys, of = append(keys, tuple.AppendInt(key, formats.MembersChunk)), append(of, a)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if d.Memory != nil {
		if err := d.Memory.Hold(d.Ctx, beside); err != nil {
			return err
		}
	}
	tables, err := d.R.Snapshot().GetMany(keys)
	for i, table := range tables {
		if table != nil && err == nil {
			of[i].part, err = partOf(table, &of[i].BodyApart, of[i].Members)
		}
	}
	return err
}

// bodyPart is members of a body.
type bodyPart struct {
	spans  []formats.Span
	chunks []int // that they are in, ascending
	length int   // of an object of them
}

// partOf finds members of a body by the table of them. It is nil where the members are most of the
// body: then the whole body is read.
func partOf(table []byte, b *formats.Blob, members Members) (*bodyPart, error) {
	spans, err := formats.FindMembers(table, b.Length, members)
	p := &bodyPart{spans: spans, length: len(`{}`)}
	for i, s := range spans {
		if p.length += s.To - s.From; i > 0 {
			p.length += len(`,`)
		}
		for n := s.From / keyspace.MaxValue; n <= (s.To-1)/keyspace.MaxValue; n++ {
			if len(p.chunks) == 0 || p.chunks[len(p.chunks)-1] != n {
				p.chunks = append(p.chunks, n)
			}
		}
	}
	if p.held() > b.Length {
		return nil, err
	}
	return p, err
}

func (p *bodyPart) held() int { return p.length + len(p.chunks)*keyspace.MaxValue }

// append appends what one of the chunks has of the members to an object of them that is not closed.
// They are to come in order. Of a chunk that is too short the object's length tells.
func (p *bodyPart) append(object []byte, i int, chunk []byte) []byte {
	begin := p.chunks[i] * keyspace.MaxValue
	for len(p.spans) > 0 && p.spans[0].From < begin+keyspace.MaxValue {
		s := p.spans[0]
		if s.From >= begin && len(object) > len(`{`) {
			object = append(object, ',')
		}
		to := min(s.To-begin, len(chunk))
		object = append(object, chunk[min(max(s.From-begin, 0), to):to]...)
		if s.To > begin+keyspace.MaxValue {
			break
		}
		p.spans = p.spans[1:]
	}
	return object
}
