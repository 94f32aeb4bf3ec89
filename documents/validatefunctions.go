package documents

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"math"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
)

// This file asks the functions validate_doc_update about documents that are to be written. Which there are follows
// from the stamp of the design documents, which the document's transaction reads: a function counts from the commit of
// its design document on. The functions run between the runs of the transaction (storage.Tx.Defer); a verdict is on the
// very texts that the function was given.

// validationCache is for how many databases the functions are remembered.
const validationCache = 4096

// designValidator asks the validation functions of design documents.
type designValidator struct {
	config *config.Config
	pool   *js.Pool
	sets   *cache.Stamped[string, validationStamp, *validationSet] // by the key prefix of the database
}

// validationStamp is what the functions in force depend on.
type validationStamp struct {
	designs string // the stamp of the design documents
	native  bool   // the database is that of the logins
}

// validationSet is the validation functions of a database.
type validationSet struct {
	designs []*js.Design
	// blocked refuses what passed the functions: the next design document is in a language that cannot be run.
	blocked *compat.Error
}

func newDesignValidator(c *config.Config, pool *js.Pool) *designValidator {
	sets := cache.NewStamped[string, validationStamp, *validationSet](validationCache)
	return &designValidator{config: c, pool: pool, sets: sets}
}

// prepare is storage.BatchValidator's PrepareBatch: nil without functions, and for the server's own writes.
func (v *designValidator) prepare(ctx context.Context, tx *storage.Tx) (storage.ValidateBatchFunc, error) {
	w, _ := ctx.Value(writerKey{}).(*writer)
	if w == nil {
		return nil, nil
	}
	var room [512]byte
	stamp, err := tx.AppendDesignStamp(room[:0])
	if err != nil || len(stamp) == 0 {
		return nil, err
	}
	native := tx.Name() == v.config.String("chttpd_auth", "authentication_db")
	key := string(tx.AppendPrefix(nil, keyspace.TagViews))
	set, err := v.sets.Load(key, validationStamp{string(stamp), native}, func() (*validationSet, error) {
		return v.load(tx, native)
	})
	if err != nil {
		return nil, err
	}
	if len(set.designs) == 0 && set.blocked == nil {
		return nil, nil
	}
	security, err := tx.Security()
	if err != nil {
		return nil, err
	}
	callback := &validationCallback{
		pool: v.pool, designs: set.designs,
		user: appendUser(nil, tx.Name(), w.who), security: securityOf(security),
	}
	base := sha256.New()
	for _, part := range [][]byte{stamp, strconv.AppendBool(nil, native), callback.user, callback.security} {
		hashPart(base, part)
	}
	callback.base = base.Sum(nil)
	return func(_ context.Context, edits []storage.ValidatedEdit) ([]error, error) {
		return v.verdicts(tx, w, set, callback, edits)
	}, nil
}

func hashPart(h hash.Hash, part []byte) {
	var size [8]byte
	binary.LittleEndian.PutUint64(size[:], uint64(len(part)))
	h.Write(size[:])
	h.Write(part)
}

// load collects the functions. The one that every users database begins with is left out where logins use the
// database, native: there its rules are applied in Go (see checkUser).
func (v *designValidator) load(tx *storage.Tx, native bool) (*validationSet, error) {
	refs, err := tx.DesignDocs()
	if err != nil {
		return nil, err
	}
	set := &validationSet{}
	for _, ref := range refs {
		doc, err := tx.OpenDesign(ref)
		if err != nil {
			return nil, err
		}
		body, err := ejson.Parse(doc.Body)
		if err != nil {
			return nil, err
		}
		source, given := body.Get("validate_doc_update")
		if !given || native && doc.ID == authDesignID && source.TextIs(authDesignSource) {
			continue
		}
		design, err := compile(v.pool, tx.Name(), doc, body)
		if err != nil {
			set.blocked = blockedBy(body, err)
			break
		}
		set.designs = append(set.designs, design)
	}
	return set, nil
}

// blockedBy is the error of writes below a validation function in another language.
func blockedBy(body ejson.Value, err error) *compat.Error {
	if language, _ := body.Get("language"); language.TextIs("query") {
		return compat.NewError(compat.KindError, "internal_server_error")
	}
	e, _ := compat.AsError(err)
	return e
}

// verdicts gives the verdicts on edits as far as they are known. Design documents are never asked about.
func (v *designValidator) verdicts(
	tx *storage.Tx,
	w *writer,
	set *validationSet,
	callback *validationCallback,
	edits []storage.ValidatedEdit,
) ([]error, error) {
	verdicts := make([]error, len(edits))
	revs := v.config.Int("query_server_config", "revs_limit", math.MaxInt64)
	for i, e := range edits {
		if compat.IsDesignID(e.Edit.ID) {
			continue
		}
		doc := js.ValidatedDoc{New: appendEdit(nil, e, w)}
		if e.Parent != nil {
			doc.Old = appendForFunction(nil, e.Parent, revs)
		}
		answer, err := tx.Defer(callback.key(&doc), callback, func() any { return doc })
		switch {
		case errors.Is(err, storage.ErrPending):
			verdicts[i] = err
			continue
		case err != nil:
			return nil, err
		}
		switch verdict, _ := answer.(error); {
		case errors.Is(verdict, compat.ErrFunctionClause):
			return nil, compat.ErrFunctionClause // the real server's worker crashes, with the whole request
		case verdict != nil:
			verdicts[i] = FunctionError(verdict)
		case set.blocked != nil:
			verdicts[i] = set.blocked
		}
	}
	return verdicts, nil
}

// validationCallback is a storage.Callback: it validates the documents of a user by the functions in force.
type validationCallback struct {
	pool           *js.Pool
	designs        []*js.Design
	user, security []byte
	base           []byte // hash of all that is the same for all documents
}

func (a *validationCallback) key(doc *js.ValidatedDoc) (key storage.CallbackKey) {
	h := sha256.New()
	h.Write(a.base)
	hashPart(h, doc.New)
	hashPart(h, doc.Old)
	h.Sum(key[:0])
	return key
}

// RunDeferred implements storage.Callback: it returns an error, or nil, for each js.ValidatedDoc.
func (a *validationCallback) RunDeferred(ctx context.Context, args []any) ([]any, error) {
	v := js.Validation{
		Designs:  a.designs,
		User:     a.user,
		Security: a.security,
		Docs:     make([]js.ValidatedDoc, len(args)),
	}
	for i, arg := range args {
		v.Docs[i] = arg.(js.ValidatedDoc)
	}
	verdicts, err := a.pool.Validate(ctx, &v)
	if err != nil {
		return nil, FunctionError(err)
	}
	results := make([]any, len(verdicts))
	for i, verdict := range verdicts {
		results[i] = verdict
	}
	return results, nil
}

// appendEdit prints a document that is about to be stored: attachments that come with it have no digest yet, and one
// that is uploaded by itself, streamed, not even a length. Those taken over from a stored revision have a revpos
// already, unless they are replicated.
func appendEdit(b []byte, e storage.ValidatedEdit, w *writer) []byte {
	view := View(e.Edit, &ReadOptions{Revs: true})
	if w.attachmentsOnly && e.Parent != nil {
		view.Revisions = e.Parent.Revs
	}
	for i := range view.Attachments {
		a := &view.Attachments[i]
		if a.HasRevPos && (!e.Replicated || isStored(e.Parent, a.Attachment)) {
			continue
		}
		plain := *a.Attachment
		plain.HasDigest = false
		a.Attachment, a.Streamed = &plain, w.streamed != "" && a.Name == w.streamed
	}
	return compat.AppendDocument(b, view)
}

// isStored reports whether a revision has the attachment already.
func isStored(d *storage.Document, a *compat.Attachment) bool {
	if d == nil {
		return false
	}
	for i := range d.Attachments {
		if s := &d.Attachments[i]; s.Name == a.Name && s.Digest == a.Digest && s.RevPos == a.RevPos {
			return true
		}
	}
	return false
}
