package blobs

import (
	"context"
	"io"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/zgzip"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Range selects what Read writes. The zero value with To -1 is all of it as
// stored.
type Range struct {
	From, To int64 // of the stored bytes, To exclusive; To < 0: to the end
	// Gunzip decodes what is stored with gzip; From and To must then select all.
	Gunzip bool
}

// Read writes the bytes of an attachment of a stored document to w, without holding more
// than a chunk in memory. It may take as long as w does: when a snapshot has become too old it goes
// on with another one, since the bytes never change. The error is compat.ErrMissing if the bytes
// are gone (the document was replaced and compacted, or purged, more than ReleasedLease ago).
func Read(ctx context.Context, db Database, att *compat.Attachment, o Range, w io.Writer) error {
	if o.To < 0 || o.To > att.EncodedLength {
		o.To = att.EncodedLength
	}
	if o.Gunzip && att.Encoding == compat.EncodingGzip {
		return gunzip(ctx, db, att, w)
	}
	return copyBytes(ctx, db, att.Ref, max(o.From, 0), o.To, w)
}

// copyBytes writes the bytes [from, to).
func copyBytes(ctx context.Context, db Database, ref string, from, to int64, w io.Writer) error {
	return db.ViewBlobs(ctx, func(d *docread.Reader) error {
		prefix := d.Keys.Attachment(nil, keyspace.TagAtt, ref)
		_, end := keyspace.Children(prefix)
		n := from / keyspace.MaxValue
		it := d.R.Range(tuple.AppendInt(prefix[:len(prefix):len(prefix)], n), end, kv.RangeOptions{})
		defer it.Close()
		for ; from < to && it.Next(); n++ {
			number, _, err := tuple.ReadInt(it.Key()[len(prefix):])
			if err != nil {
				return keyspace.Corrupt("attachment chunk", err)
			}
			chunk := it.Value()
			chunk = chunk[:min(int64(len(chunk)), to-n*keyspace.MaxValue)]
			if number != n || int64(len(chunk)) <= from-n*keyspace.MaxValue {
				return keyspace.Corrupt("attachment: chunks with gaps", nil)
			}
			written, err := w.Write(chunk[from-n*keyspace.MaxValue:])
			from += int64(written)
			if err != nil {
				return err
			}
			d.Advance()
		}
		if err := it.Err(); err != nil {
			return err
		}
		if from < to {
			return compat.ErrMissing
		}
		return nil
	})
}

// gunzip writes the decoded bytes.
func gunzip(ctx context.Context, db Database, att *compat.Attachment, w io.Writer) error {
	encoded, stored := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		stored.CloseWithError(copyBytes(ctx, db, att.Ref, 0, att.EncodedLength, stored))
	}()
	err := decode(encoded, w)
	if zgzip.Malformed(err) {
		err = errNoGzip
	}
	encoded.CloseWithError(err) // ends the copying if the decoder stopped early
	<-done
	return err
}

// errNoGzip is what an attachment is answered that was uploaded as gzip and is none, where its
// bytes must be decoded.
var errNoGzip = compat.NewError(compat.KindNotAcceptable,
	"The attachment is marked gzip and is none: it can be read as it is stored, with Accept-Encoding: gzip.")

func decode(encoded io.Reader, w io.Writer) error {
	r, err := zgzip.NewReader(encoded)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return err
}
