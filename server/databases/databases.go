package databases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/find"
	"github.com/settee-db/settee/storage"
)

// getDB is GET /{db}; how long it took is one of CouchDB's statistics.
func getDB(c *call.Call) error {
	began := time.Now()
	info, err := c.DB.Info(c.Context())
	if err != nil {
		return err
	}
	c.Env.Stats.DBInfoTime.Took(time.Since(began))
	return c.JSON(http.StatusOK, documents.AppendInfo(nil, info))
}

// putDB creates a database; the checks come in CouchDB's order (chttpd_db:create_db_req,
// fabric_db_create).
func putDB(c *call.Call) error {
	c.DBKnown = true // so that its errors are not turned into "missing database"
	name := c.Segment(0)
	if err := Create(c.Context(), c.Env, c.Settings, name, c.Query); err != nil {
		return err
	}
	c.SetHeader("Location", c.Link(name))
	return c.OK(http.StatusCreated)
}

// Create creates a database as the query asks for it.
func Create(ctx context.Context, e *call.Env, set *call.Settings, name string, query compat.Query) error {
	options, err := createOptions(set, query)
	if errors.Is(err, errTooLarge) {
		if exists, existsErr := e.Store.DB(name).Exists(ctx); existsErr == nil && exists {
			return compat.ErrFileExists // which comes first where q is any number at all
		}
	}
	if err != nil {
		return err
	}
	if err := compat.ValidateDatabaseName(name); err != nil {
		return err
	}
	if options.Partitioned {
		if err := compat.ValidatePartitionedName(name); err != nil {
			return err
		}
	}
	if options.Access && documents.ServerOwn(name, set.Auth.UsersDB) {
		return errSystemAccess
	}
	if noRoom := e.Docs.Room(); noRoom != nil {
		if exists, err := e.Store.DB(name).Exists(ctx); err != nil || !exists {
			return cmp.Or(err, noRoom)
		}
	}
	if err := e.Store.Create(ctx, name, options); err != nil {
		return err
	}
	return find.AddDefaultIndex(ctx, e, name)
}

// errSystemAccess refuses access for each document in databases that have rights of their own.
var errSystemAccess = compat.NewError(compat.KindBadRequest,
	"`access` is not for databases of the server.")

// createOptions reads n, q, placement, engine, partitioned and access.
func createOptions(set *call.Settings, query compat.Query) (storage.CreateOptions, error) {
	o := storage.CreateOptions{N: 1, Q: int(set.Shards), Security: databaseSecurity(set)}
	var n int
	if err := positive(query, "n", &n); err != nil && !errors.Is(err, errTooLarge) {
		return o, err
	}
	if err := positive(query, "q", &o.Q); err != nil {
		return o, err
	}
	if text, ok := query.First("placement"); ok && !validPlacement(text) {
		return o, compat.NewError(compat.KindBadRequest, "The `placement` value should be in a format `zone:n`.")
	}
	if text, ok := query.First("engine"); ok && text != "couch" {
		return o, compat.NewError(compat.KindBadRequest, "invalid_engine_extension")
	}
	switch text, ok := query.First("partitioned"); {
	case text == "true":
		o.Partitioned = true
	case ok && text != "false":
		return o, compat.NewError(compat.KindBadRequest, "Invalid `partitioned` parameter")
	}
	// As the branch of CouchDB with access for each document answers (chttpd_db:parse_access_opt).
	switch text, ok := query.First("access"); {
	case text == "true":
		o.Access = true
	case ok && text != "false":
		return o, compat.NewError(compat.KindBadRequest, "The `access` value should be a boolean.")
	}
	return o, nil
}

// positive reads a number of decimal digits above zero.
func positive(query compat.Query, name string, n *int) error {
	text, ok := query.First(name)
	if !ok {
		return nil
	}
	refused := compat.NewError(compat.KindBadRequest, "The `"+name+"` value should be a positive integer.")
	const bits = 16 // _shards names as many ranges
	v, err := strconv.ParseUint(text, 10, bits)
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%w: %w", refused, errTooLarge)
	}
	if err != nil || v == 0 {
		return refused
	}
	*n = int(v)
	return nil
}

// errTooLarge refuses numbers of shards that CouchDB accepts but could not create.
var errTooLarge = errors.New("the number is too large")

// validPlacement accepts zone:n lists (mem3_util:parse_placement).
func validPlacement(text string) bool {
	for _, part := range strings.Split(text, ",") {
		zone, count, found := strings.Cut(part, ":")
		n, err := strconv.ParseUint(count, 10, 31)
		if zone == "" || !found || err != nil || n == 0 {
			return false
		}
	}
	return true
}

// databaseSecurity is couchdb/default_security where it opens the database; without a stored object
// a database is closed (compat.DefaultSecurity).
func databaseSecurity(set *call.Settings) []byte {
	if mode := set.DefaultSecurity; mode != "everyone" && mode != "admin_local" {
		return nil
	}
	return []byte("{}")
}

// deleteDB is DELETE /{db}. Whoever meant a document and lost the rest of its path is stopped by
// the option rev.
func deleteDB(c *call.Call) error {
	c.DBKnown = true // the refusal of rev= comes before the database
	if _, given := c.Query.First("rev"); given {
		return compat.NewError(compat.KindBadRequest,
			"You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a document instead?")
	}
	if err := c.Env.Store.Delete(c.Context(), c.Segment(0)); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

// getAllDBs answers GET /_all_dbs. The ETag is a hash of all names, so the whole list is gathered
// before its first byte is sent; names are short, so that is little memory.
func getAllDBs(c *call.Call) error {
	options, err := nameRange(c)
	if err == nil {
		err = c.NodeDown()
	}
	if err != nil {
		return err
	}
	b := []byte{'['}
	err = c.Env.Store.AllDBs(c.Context(), options, func(name string) error {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = ejson.AppendString(b, name)
		return nil
	})
	if err != nil {
		return err
	}
	if c.NotModified(call.ContentTag(b)) {
		return nil
	}
	s := c.Stream(http.StatusOK)
	if _, err := s.Write(append(b, "]\n"...)); err != nil {
		return err
	}
	return s.Close()
}

// getDBsInfo answers GET /_dbs_info. The ETag depends on the names alone, as in CouchDB: a client
// whose list is the same gets 304 although numbers of documents may have changed. A database that
// is deleted meanwhile is left out.
func getDBsInfo(c *call.Call) error {
	options, err := nameRange(c)
	if err == nil {
		err = c.NodeDown()
	}
	if err != nil {
		return err
	}
	var names []string
	err = c.Env.Store.AllDBs(c.Context(), options, func(name string) error {
		names = append(names, name)
		return nil
	})
	if err != nil {
		return err
	}
	if c.NotModified(call.ContentTag([]byte(strings.Join(names, ",")))) {
		return nil
	}
	return infos(c, len(names), func(i int) (string, []byte) { return names[i], nil }, true)
}

// postDBsInfo answers POST /_dbs_info with an element for each key, in the order of the keys; a key
// without a database gets an error in its place (chttpd_misc:handle_dbs_info_req).
func postDBsInfo(c *call.Call) error {
	v, err := c.JSONRequest()
	if err != nil {
		return err
	}
	list, ok := v.Get("keys")
	switch {
	case !ok:
		return compat.NewError(compat.KindBadRequest, "`keys` member must exist.")
	case list.Kind() != ejson.Array:
		return compat.NewError(compat.KindBadRequest, "`keys` member must be an array.")
	case int64(list.Len()) > c.Settings.MaxDBsInfo:
		return compat.NewError(compat.KindBadRequest, "too_many_keys")
	}
	keys := make([]ejson.Value, 0, list.Len())
	for e := range list.Elements() {
		keys = append(keys, e)
	}
	return infos(c, len(keys), func(i int) (string, []byte) { return keys[i].Text(), keys[i].AppendJSON(nil) }, false)
}

// infoOf is the information on a database that _dbs_info shows to whoever may list databases,
// members or not; where access is for each document, of those that the user sees.
func infoOf(c *call.Call, name string) (*storage.Info, error) {
	d := c.Env.Docs.Database(name, c.User, documents.Origin{Rules: &c.Settings.Rules})
	if _, err := d.Access().SeesSome(c.Context()); err != nil {
		return nil, err
	}
	return d.Bare().Info(c.Context())
}

// infos streams {"key","info"} rows. With skipMissing databases that vanished meanwhile are left
// out, else they are {"key","error":"not_found"}. key gives the name, and the key's JSON where that
// is not simply the name.
func infos(c *call.Call, n int, key func(int) (string, []byte), skipMissing bool) error {
	s := c.Stream(http.StatusOK)
	b, separator := append(s.Buffer(), '['), ""
	for i := range n {
		name, asJSON := key(i)
		if asJSON == nil {
			asJSON = ejson.AppendString(nil, name)
		}
		info, err := infoOf(c, name)
		switch {
		case err == nil:
			b = append(append(append(b, separator...), `{"key":`...), asJSON...)
			b = append(documents.AppendInfo(append(b, `,"info":`...), info), '}')
		case !errors.Is(err, compat.KindNoDatabase):
			return err
		case skipMissing:
			continue
		default:
			b = append(append(append(b, separator...), `{"key":`...), asJSON...)
			b = append(b, `,"error":"not_found"}`...)
		}
		separator = ","
		if err := s.Commit(b); err != nil {
			return err
		}
		b = s.Buffer()
	}
	if err := s.Commit(append(b, "]\n"...)); err != nil {
		return err
	}
	return s.Close()
}
