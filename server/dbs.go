package server

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

// RequireDB makes sure that the database exists. Handlers call it where they could succeed without touching it.
func (c *Call) RequireDB() error {
	if c.dbKnown {
		return nil
	}
	exists, err := c.db.Exists(c.Context())
	if err != nil {
		return err
	}
	if !exists {
		return compat.ErrNoDatabase
	}
	c.dbKnown = true
	return nil
}

func getDB(c *Call) error {
	began := time.Now()
	info, err := c.db.Info(c.Context())
	if err != nil {
		return err
	}
	c.srv.stats.took("couchdb.dbinfo", began)
	return c.JSON(http.StatusOK, appendInfo(nil, info))
}

// appendInfo appends what GET /db shows, in CouchDB's order.
func appendInfo(b []byte, i *storage.Info) []byte {
	b = appendStart(append(b, `{"instance_start_time":`...), i)
	b = ejson.AppendString(append(b, `,"db_name":`...), i.Name)
	b = appendSeq(append(b, `,"purge_seq":`...), i.PurgeSeq)
	b = appendSeq(append(b, `,"update_seq":`...), i.UpdateSeq)
	b = strconv.AppendInt(append(b, `,"sizes":{"file":`...), i.SizeFile, 10)
	b = strconv.AppendInt(append(b, `,"external":`...), i.SizeExternal, 10)
	b = strconv.AppendInt(append(b, `,"active":`...), i.SizeActive, 10)
	b = append(b, `},"props":{`...)
	if i.Partitioned {
		b = append(b, `"partitioned":true`...)
	}
	b = strconv.AppendInt(append(b, `},"doc_del_count":`...), i.DocDelCount, 10)
	b = strconv.AppendInt(append(b, `,"doc_count":`...), i.DocCount, 10)
	b = strconv.AppendBool(append(b, `,"disk_format_version":8,"compact_running":`...), i.CompactRunning)
	b = strconv.AppendInt(append(b, `,"cluster":{"q":`...), int64(i.Q), 10)
	return append(b, `,"n":1,"w":1,"r":1}}`...)
}

// appendStart appends the time of creation, which is a string.
func appendStart(b []byte, i *storage.Info) []byte {
	return append(strconv.AppendInt(append(b, '"'), i.Created.Unix(), 10), '"')
}

// putDB creates a database; the checks come in CouchDB's order (chttpd_db:create_db_req, fabric_db_create).
func putDB(c *Call) error {
	c.dbKnown = true // its errors are not about a missing database
	name := c.Segment(0)
	if err := c.createDatabase(name); err != nil {
		return err
	}
	c.SetHeader("Location", c.Link(name))
	return c.OK(http.StatusCreated)
}

// createDatabase creates a database as the query asks for it.
func (c *Call) createDatabase(name string) error {
	options, err := c.createOptions()
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
	if err := c.srv.store.Create(c.Context(), name, options); err != nil {
		return err
	}
	return c.srv.addDefaultIndex(c.Context(), name)
}

// createOptions reads n, q, placement, engine and partitioned.
func (c *Call) createOptions() (storage.CreateOptions, error) {
	o := storage.CreateOptions{N: 1, Q: int(c.set.shards), Security: c.defaultSecurity()}
	var n int
	if err := c.positive("n", &n); err != nil {
		return o, err
	}
	if err := c.positive("q", &o.Q); err != nil {
		return o, err
	}
	if text, ok := c.query.First("placement"); ok && !validPlacement(text) {
		return o, compat.NewError(compat.KindBadRequest, "The `placement` value should be in a format `zone:n`.")
	}
	if text, ok := c.query.First("engine"); ok && text != "couch" {
		return o, compat.NewError(compat.KindBadRequest, "invalid_engine_extension")
	}
	switch text, ok := c.query.First("partitioned"); {
	case text == "true":
		o.Partitioned = true
	case ok && text != "false":
		return o, compat.NewError(compat.KindBadRequest, "Invalid `partitioned` parameter")
	}
	return o, nil
}

// positive reads a number of decimal digits above zero.
func (c *Call) positive(name string, n *int) error {
	text, ok := c.query.First(name)
	if !ok {
		return nil
	}
	v, err := strconv.ParseUint(text, 10, 31)
	if err != nil || v == 0 {
		return compat.NewError(compat.KindBadRequest, "The `"+name+"` value should be a positive integer.")
	}
	*n = int(v)
	return nil
}

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

// defaultSecurity is couchdb/default_security where it opens the database; without a stored object a database is closed
// (compat.DefaultSecurity).
func (c *Call) defaultSecurity() []byte {
	if mode := c.set.defaultSecurity; mode != "everyone" && mode != "admin_local" {
		return nil
	}
	return []byte("{}")
}

func deleteDB(c *Call) error {
	c.dbKnown = true // the refusal of rev= comes before the database
	if _, given := c.query.First("rev"); given {
		return compat.NewError(compat.KindBadRequest, "You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a document instead?")
	}
	if err := c.srv.store.Delete(c.Context(), c.Segment(0)); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

func getAllDBs(c *Call) error {
	options, err := c.nameRange()
	if err == nil {
		err = c.nodeDown()
	}
	if err != nil {
		return err
	}
	b := []byte{'['}
	err = c.srv.store.AllDBs(c.Context(), options, func(name string) error {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = ejson.AppendString(b, name)
		return nil
	})
	if err != nil {
		return err
	}
	if c.NotModified(contentTag(b)) {
		return nil
	}
	s := c.Stream(http.StatusOK)
	if _, err := s.Write(append(b, "]\n"...)); err != nil {
		return err
	}
	return s.Close()
}

func getDBsInfo(c *Call) error {
	options, err := c.nameRange()
	if err == nil {
		err = c.nodeDown()
	}
	if err != nil {
		return err
	}
	var names []string
	err = c.srv.store.AllDBs(c.Context(), options, func(name string) error {
		names = append(names, name)
		return nil
	})
	if err != nil {
		return err
	}
	if c.NotModified(contentTag([]byte(strings.Join(names, ",")))) {
		return nil
	}
	return c.infos(len(names), func(i int) (string, []byte) { return names[i], nil }, true)
}

func postDBsInfo(c *Call) error {
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
	case int64(list.Len()) > c.set.maxDBsInfo:
		return compat.NewError(compat.KindBadRequest, "too_many_keys")
	}
	keys := make([]ejson.Value, 0, list.Len())
	for e := range list.Elements() {
		keys = append(keys, e)
	}
	return c.infos(len(keys), func(i int) (string, []byte) { return keys[i].Text(), keys[i].AppendJSON(nil) }, false)
}

// infos streams {"key","info"} rows. With skipMissing databases that vanished meanwhile are left out, else they are
// {"key","error":"not_found"}. key gives the name, and the key's JSON where that is not simply the name.
func (c *Call) infos(n int, key func(int) (string, []byte), skipMissing bool) error {
	s := c.Stream(http.StatusOK)
	b, separator := append(s.Buffer(), '['), ""
	for i := range n {
		name, asJSON := key(i)
		if asJSON == nil {
			asJSON = ejson.AppendString(nil, name)
		}
		info, err := c.srv.store.DB(name).Info(c.Context())
		switch {
		case err == nil:
			b = append(append(append(b, separator...), `{"key":`...), asJSON...)
			b = append(appendInfo(append(b, `,"info":`...), info), '}')
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
