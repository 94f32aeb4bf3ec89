package documents

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
)

// This file asks the functions and selectors validate_doc_update about documents that are to be
// written. Which there are follows from the stamp of the design documents, which the document's
// transaction reads: a function counts from the commit of its design document on. Selectors are
// matched in the transaction. The functions run between the runs of the transaction
// (storage.Tx.Defer); a verdict is on the very texts that the function was given.

const (
	// validationCache is how many bytes the sets of the databases that were written last may take
	// together; one larger set is still kept.
	validationCache = 16 << 20
	// maxRules is how many bytes the selectors of one database may take, by the bound that is known
	// before they are compiled: those of simple documents by the thousand.
	maxRules = 8 << 20
	// setSize is roughly the size of a set without its selectors.
	setSize = 300
)

// designValidator asks the validation functions and selectors of design documents.
type designValidator struct {
	config  *config.Config
	checker DesignChecker
	pool    *js.Pool
	sets    *cache.Stamped[string, validationStamp, *validationSet] // by the key prefix of the database
}

// validationStamp names the state of a database that its functions in force follow from.
type validationStamp struct {
	designs string // the stamp of the design documents
	native  bool   // the database is that of the logins
}

// validationSet is all functions and selectors of a database that are asked about a write, in the
// order of the design documents' ids.
type validationSet struct {
	steps []validationStep
	// scripted says that some step has functions.
	scripted bool
	// blocked, if set, refuses every edit that has passed the steps: the next design document
	// cannot be run, or its selector not be parsed.
	blocked *compat.Error
	rules   int64 // bytes of the selectors, at most
	bytes   int   // roughly, of the whole set
}

// validationStep is the selector of a design document, or the functions of several that follow each
// other.
type validationStep struct {
	valid   func(change ejson.Value) bool // nil: functions
	designs []*js.Design
}

// newDesignValidator makes a validator that keeps the compiled functions of databases that were
// written to lately, within a bound of bytes.
func newDesignValidator(c *config.Config, checker DesignChecker, pool *js.Pool) *designValidator {
	size := func(_ string, set *validationSet) int { return set.bytes }
	sets := cache.NewStampedSized[string, validationStamp](validationCache, size)
	return &designValidator{config: c, checker: checker, pool: pool, sets: sets}
}

// prepare is storage.BatchValidator's PrepareBatch: nil where nothing is asked, and for the
// server's own writes, which share no transaction with others.
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
	if len(set.steps) == 0 && set.blocked == nil {
		return nil, nil
	}
	check := &validation{
		tx: tx, writer: w, set: set, revs: v.config.Int("query_server_config", "revs_limit", math.MaxInt64),
	}
	if set.scripted {
		if check.callbacks, err = v.callbacks(tx, w, set, stamp, native); err != nil {
			return nil, err
		}
	}
	return check.verdicts, nil
}

// callbacks ask the functions of a set, by its steps, for a writer.
func (v *designValidator) callbacks(
	tx *storage.Tx,
	w *writer,
	set *validationSet,
	stamp []byte,
	native bool,
) ([]*validationCallback, error) {
	security, err := tx.Security()
	if err != nil {
		return nil, err
	}
	user, object := appendUser(nil, tx.Name(), w.who), securityOf(security)
	callbacks := make([]*validationCallback, len(set.steps))
	for i, step := range set.steps {
		if step.valid != nil {
			continue
		}
		base := sha256.New()
		step64 := strconv.AppendInt(nil, int64(i), 10)
		for _, part := range [][]byte{stamp, strconv.AppendBool(nil, native), step64, user, object} {
			hashPart(base, part)
		}
		callbacks[i] = &validationCallback{
			pool: v.pool, designs: step.designs, user: user, security: object, base: base.Sum(nil),
		}
	}
	return callbacks, nil
}

// hashPart hashes a part with its length before it, so that parts cannot run into one another.
func hashPart(h hash.Hash, part []byte) {
	var size [8]byte
	binary.LittleEndian.PutUint64(size[:], uint64(len(part)))
	h.Write(size[:])
	h.Write(part)
}

// load collects the functions and selectors. The one that every users database begins with is left
// out where logins use the database, native: there its rules are applied in Go (see checkUser).
func (v *designValidator) load(tx *storage.Tx, native bool) (*validationSet, error) {
	refs, err := tx.DesignDocs()
	if err != nil {
		return nil, err
	}
	set := &validationSet{bytes: setSize}
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
		if err := set.add(v, tx.Name(), doc, body); err != nil {
			set.blocked, _ = compat.AsError(err)
			break
		}
	}
	return set, nil
}

// add adds the function or the selector of a design document.
func (s *validationSet) add(v *designValidator, db string, doc *docread.Document, body ejson.Value) error {
	valid, size, err := v.checker.CompileRule(body, maxRules-s.rules)
	if err != nil {
		return unreadable(doc.ID, err)
	}
	if valid != nil {
		s.rules += size
		s.bytes += int(size)
		s.steps = append(s.steps, validationStep{valid: valid})
		return nil
	}
	design, err := compile(v.pool, db, doc, body)
	if err != nil {
		return err
	}
	s.scripted = true
	s.bytes += setSize + len(doc.Body)
	if n := len(s.steps); n == 0 || s.steps[n-1].valid != nil {
		s.steps = append(s.steps, validationStep{})
	}
	last := &s.steps[len(s.steps)-1]
	last.designs = append(last.designs, design)
	return nil
}

// unreadable is the error of writes to a database with a selector that cannot be parsed, or with
// too many selectors. Requests and replications cannot store such a selector; only trusted writes,
// which are not checked, can.
func unreadable(id string, err error) error {
	if e, ok := compat.AsError(err); ok {
		return compat.NewError(compat.KindForbidden, id+" cannot be read: "+e.Reason)
	}
	return err
}

// validationCallback is a storage.Callback: it validates the documents of a user by the functions
// in force.
type validationCallback struct {
	pool *js.Pool
	// One run asks all of them for a document, in the order of the ids of their design documents.
	designs []*js.Design
	// What functions get besides the documents, JSON: who writes, and the database's security
	// object.
	user, security []byte
	base           []byte // hash of all that is the same for all documents
}

// key names the answer for a document by all that it depends on: a result that is found under it
// was given for just these texts.
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
