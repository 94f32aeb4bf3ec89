package documents

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/answers"
)

// onceHeader is the key of a request that is done once, however often it is sent.
const onceHeader = "Idempotency-Key"

// maxOnceKey is how long a key may be.
const maxOnceKey = 64

var (
	errOnceKey = compat.NewError(compat.KindBadRequest,
		onceHeader+" must be 1 to 64 characters, letters, digits and signs of ASCII")
	errOnceBulk  = compat.NewError(compat.KindBadRequest, onceHeader+" of _bulk_docs is for `atomic`: true.")
	errOnceLocal = compat.NewError(compat.KindBadRequest, onceHeader+" is not for local documents")
)

// onceOf reads the key of a request; nil if it has none. A repeated key must come with the same
// request: method, path, query, body, and the headers that change what is written.
func onceOf(c *call.Call, body []byte) (*answers.Request, error) {
	if !c.HasHeader(onceHeader) {
		return nil, nil
	}
	key := c.Header(onceHeader)
	strange := strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
	if key == "" || len(key) > maxOnceKey || strange {
		return nil, errOnceKey
	}
	hash := sha256.New()
	said := append([]string{c.Method, c.Request.URL.RawQuery, c.Header("If-Match"), c.Header(expiresHeader)},
		c.Segments...)
	for _, part := range said {
		hash.Write(binary.AppendUvarint(nil, uint64(len(part))))
		hash.Write([]byte(part))
	}
	hash.Write([]byte{0})
	hash.Write(body)
	return &answers.Request{User: c.User.Name, Key: key, Hash: [sha256.Size]byte(hash.Sum(nil)), Now: time.Now()}, nil
}

// patchOnce is patchDoc of a request with a key: the document and the answer are stored in one
// transaction of their own.
func patchOnce(c *call.Call, edit *documents.PatchEdit, o documents.WriteOptions, once *answers.Request) error {
	if compat.IsLocalID(edit.ID) {
		return errOnceLocal
	}
	edit.Return = false // of an answer that is kept
	part := &atomicPart{
		rows:   &bulkRows{patches: []*documents.PatchEdit{edit}, patched: []bool{true}},
		checks: documents.CommitPart{Database: c.Docs, Options: o},
	}
	run := &atomicRun{c: c, parts: []*atomicPart{part}, once: once}
	run.answer = func() *answers.Answer {
		rev := part.rowsOf()[0].Rev
		written := len(part.round.Docs) > 0
		return &answers.Answer{
			Status: patchStatus(c, written, written && part.round.Docs[0].Deleted),
			ETag:   rev.String(), Body: appendWritten(nil, edit.ID, rev),
		}
	}
	err := run.store()
	switch found, refused := refusalOf(err); {
	case !refused && err != nil:
		return err
	case refused && part.rowsOf()[0].Err != nil:
		return part.rowsOf()[0].Err
	case refused && len(found.Refused) > 0:
		return found.Refused[0].Err
	case refused:
		return compat.ErrConflict
	}
	c.SetHeader("Location", c.Link(c.DB.Name(), edit.ID))
	return run.reply()
}
