package databases

import (
	"context"
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/autopurge"
	"github.com/settee-db/settee/storage/keyspace"
)

// life is a setting of a database that says for how long something is kept. What clients put and get
// is an object with one member; with an empty object the server's setting counts again.
type life struct {
	member             string
	badMember, badText error
	valid              func(text string) bool
	get                func(keyspace.Record) string
	set                func(s storage.Settings, ctx context.Context, text string) error
}

// tombstoneLife is /{db}/_auto_purge: for how long deleted documents are kept
// (chttpd_db:validate_auto_purge_props). In CouchDB whoever may read the database may set it; here
// its admins may.
var tombstoneLife = &life{
	member:    "deleted_document_ttl",
	badMember: compat.NewError(compat.KindBadRequest, "invalid auto purge property"),
	badText:   compat.NewError(compat.KindBadRequest, "deleted_document_ttl must be a valid string"),
	valid: func(text string) bool {
		_, ok := autopurge.ParsePeriod(text)
		return ok || text == autopurge.Forever
	},
	get: func(rec keyspace.Record) string { return rec.AutoPurge },
	set: storage.Settings.SetAutoPurge,
}

var errHistory = compat.NewError(compat.KindBadRequest,
	`_history is an object with the one member "history": a period such as "30d", or "off"`)

// historyLife is /{db}/_history, which CouchDB does not have: for how long replaced revisions are
// kept.
var historyLife = &life{
	member:    "history",
	badMember: errHistory,
	badText:   errHistory,
	valid: func(text string) bool {
		_, ok := autopurge.ParseHistory(text)
		return ok
	},
	get: func(rec keyspace.Record) string { return rec.History },
	set: storage.Settings.SetHistory,
}

// accepts reports whether a text can be stored.
func (l *life) accepts(text string) bool { return l.valid(text) && len(text) <= keyspace.MaxAutoPurge }

// answerGet answers with what was put: an empty object where nothing was.
func (l *life) answerGet(c *call.Call) error {
	rec, err := c.DB.Settings().Record(c.Context())
	if err != nil {
		return err
	}
	text := l.get(rec)
	if text == "" {
		return c.JSON(http.StatusOK, []byte("{}"))
	}
	b := ejson.AppendString([]byte(`{"`+l.member+`":`), text)
	return c.JSON(http.StatusOK, append(b, '}'))
}

// answerPut takes the object of the body.
func (l *life) answerPut(c *call.Call) error {
	if err := c.Docs.Access().NeedAdmin(c.Context()); err != nil {
		return err
	}
	v, err := c.JSONRequest()
	if err != nil {
		return err
	}
	text := ""
	for name, value := range v.Members() {
		if name.Text() != l.member {
			return l.badMember
		}
		text = value.Text()
		if value.Kind() != ejson.String || !l.accepts(text) {
			return l.badText
		}
	}
	if err := l.set(c.DB.Settings(), c.Context(), text); err != nil {
		return err
	}
	return c.OK(http.StatusCreated)
}
