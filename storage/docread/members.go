package docread

import (
	"slices"

	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// completedPart is Completed for an entry of whose body only some members are wanted, by their names
// as they stand in the text. Of a body that is apart and has a table of its members, the chunks are
// read that those are in: it is an object of them then, and of others perhaps.
func (d *Reader) completedPart(e formats.Entry, names [][]byte) (formats.Entry, error) {
	if len(names) == 0 {
		return d.Completed(false, e)
	}
	if e.Body == nil && e.BodyApart.Length > keyspace.MaxValue {
		key := d.Keys.Attachment(nil, keyspace.TagAtt, e.BodyApart.Ref)
		table, err := d.R.Snapshot().Get(tuple.AppendInt(key, formats.MembersChunk))
		if err != nil {
			return e, err
		}
		if table != nil {
			if e.Body, err = d.readMembers(&e.BodyApart, table, names); err != nil {
				return e, err
			}
		}
	}
	return d.Completed(true, e)
}

// readMembers reads members of a body by the table of them. The chunks come in one round trip. It is
// nil where they are most of the body, which is better read as it is.
func (d *Reader) readMembers(b *formats.Blob, table []byte, names [][]byte) ([]byte, error) {
	spans, err := formats.FindMembers(table, b.Length, names)
	if err != nil {
		return nil, err
	}
	size := len(`{}`)
	var numbers []int // of chunks, ascending
	for _, s := range spans {
		size += s.To - s.From + 1
		for n := s.From / keyspace.MaxValue; n <= (s.To-1)/keyspace.MaxValue; n++ {
			if len(numbers) == 0 || numbers[len(numbers)-1] != n {
				numbers = append(numbers, n)
			}
		}
	}
	held := size + len(numbers)*keyspace.MaxValue
	if held > b.Length {
		return nil, nil
	}
	if d.Memory != nil {
		if err := d.Memory.Hold(d.Ctx, held); err != nil {
			return nil, err
		}
	}
	keys := make([][]byte, len(numbers))
	for i, n := range numbers {
		keys[i] = tuple.AppendInt(d.Keys.Attachment(nil, keyspace.TagAtt, b.Ref), int64(n))
	}
	chunks, err := d.R.Snapshot().GetMany(keys)
	if err != nil {
		return nil, err
	}
	body := append(make([]byte, 0, size), '{')
	for _, s := range spans {
		if len(body) > 1 {
			body = append(body, ',')
		}
		for at := s.From; at < s.To; {
			n := at / keyspace.MaxValue
			i, _ := slices.BinarySearch(numbers, n)
			begin, end := at-n*keyspace.MaxValue, min(s.To-n*keyspace.MaxValue, keyspace.MaxValue)
			if len(chunks[i]) < end {
				return nil, keyspace.Corrupt("chunks", nil)
			}
			body = append(body, chunks[i][begin:end]...)
			at += end - begin
		}
	}
	return append(body, '}'), nil
}
