package admin

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/server/auth"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
)

// The set-up of a cluster, as a server that is one node answers it (setup_httpd, setup).

var (
	errSetupBody     = compat.NewError(compat.KindBadRequest, "Missing JSON body'")
	errSetupAction   = compat.NewError(compat.KindBadRequest, "Invalid Action'")
	errSetupFinished = compat.NewError(compat.KindBadRequest, "Cluster is already finished")
	errSetupEnabled  = compat.NewError(compat.KindBadRequest, "Cluster is already enabled")
	errSetupNodes    = compat.NewError(compat.KindBadRequest, "Cluster is not enabled.")
)

// setupDatabases are those a complete server has; ensure_dbs_exist names others.
var setupDatabases = []string{"_users", "_replicator"}

// getClusterSetup says how far the set-up is.
func (h *Handlers) getClusterSetup(c *call.Call) error {
	names := setupDatabases
	if text, ok := c.Query.First("ensure_dbs_exist"); ok {
		var p ejson.Parser
		defer p.Release()
		v, err := p.Parse([]byte(text))
		if err != nil {
			return compat.NewError(compat.KindBadRequest, "invalid UTF-8 JSON")
		}
		if names, err = setupNames(v); err != nil {
			return err
		}
	}
	complete, err := haveDBs(c.Context(), c.Env.Store, names)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, []byte(`{"state":"`+setupState(c.Env.Config, complete)+`"}`))
}

// setupState names the state; complete reports whether the system databases exist.
func setupState(s *config.Config, complete bool) string {
	switch {
	case s.Bool("couchdb", "single_node"):
		return "single_node_enabled"
	case s.Int("cluster", "n", 3) == 1 && !complete:
		return "single_node_disabled"
	case s.Int("cluster", "n", 3) == 1:
		return "single_node_enabled"
	case s.String("chttpd", "bind_address") == "127.0.0.1":
		return "cluster_disabled"
	case !complete:
		return "cluster_enabled"
	}
	return "cluster_finished"
}

// postClusterSetup answers POST /_cluster_setup. A settee cluster needs no setup of its own: its
// processes find each other in the store. So only the actions that set an administrator, an address
// and the system databases do something; the ones that would join nodes of Erlang are refused.
// CouchDB: setup_httpd:handle_action.
func (h *Handlers) postClusterSetup(c *call.Call) error {
	if err := c.RequireJSON(); err != nil {
		return err
	}
	v, err := c.JSONObject()
	if err != nil {
		return errSetupBody
	}
	action, _ := v.Get("action")
	switch action.Text() {
	case "enable_single_node":
		if err := h.setUpNode(c, v); err != nil {
			return err
		}
		if err = h.finishSetup(c, v); errors.Is(err, errSetupFinished) {
			err = nil // as in CouchDB: scripts may ask for it at each start
		}
	case "finish_cluster":
		err = h.finishSetup(c, v)
	case "enable_cluster":
		if c.Env.Config.String("chttpd", "bind_address") != "127.0.0.1" {
			return errSetupEnabled
		}
		err = h.setUpNode(c, v)
	case "remove_node": // CouchDB, too, does nothing; nodes that are gone leave by themselves
	case "add_node", "receive_cookie":
		err = errSetupNodes
	default:
		err = errSetupAction
	}
	if err != nil {
		return err
	}
	return c.OK(http.StatusCreated)
}

// setUpNode stores the administrator, address and port of the request.
func (h *Handlers) setUpNode(c *call.Call, v ejson.Value) error {
	name, _ := v.Get("username")
	password, _ := v.Get("password")
	if hash, ok := v.Get("password_hash"); ok {
		password = hash
	}
	set := func(section, key, value string) error {
		return configError(c.Env.Config.Keep(section, key, value))
	}
	if name.Kind() == ejson.String && password.Kind() == ejson.String {
		hash, err := h.hashAdmin(c, password.Text())
		if err != nil {
			return err
		}
		if err := set("admins", name.Text(), hash); err != nil {
			return err
		}
	}
	address := "0.0.0.0"
	if v, ok := v.Get("bind_address"); ok && v.Kind() == ejson.String {
		address = v.Text()
	}
	if err := set("chttpd", "bind_address", address); err != nil {
		return err
	}
	if port, ok := v.Get("port"); ok {
		text := port.Text()
		if n, isNumber := port.Int(); isNumber {
			text = strconv.FormatInt(n, 10)
		}
		// A port that cannot be would keep the server from starting again.
		if n, err := strconv.ParseUint(text, 10, 16); err != nil || n == 0 {
			return compat.NewError(compat.KindBadRequest, "Invalid port")
		}
		if err := set("chttpd", "port", text); err != nil {
			return err
		}
	}
	return set("cluster", "n", "1")
}

// finishSetup creates the system databases. When all exist CouchDB says that the set-up was
// finished before; here they do from the first start on, so whether it was is kept.
func (h *Handlers) finishSetup(c *call.Call, v ejson.Value) error {
	names := setupDatabases
	if list, ok := v.Get("ensure_dbs_exist"); ok {
		var err error
		if names, err = setupNames(list); err != nil {
			return err
		}
	}
	if complete, err := haveDBs(c.Context(), c.Env.Store, names); err != nil {
		return err
	} else if complete && c.Env.Config.Bool("settee", "setup_finished") {
		return errSetupFinished
	}
	for _, name := range names {
		err := c.Env.Store.Create(c.Context(), name, storage.CreateOptions{Q: int(c.Settings.Shards), N: 1})
		if e, ok := compat.AsError(err); err != nil && (!ok || e.Kind != compat.KindFileExists) {
			return err
		}
	}
	return configError(c.Env.Config.Keep("settee", "setup_finished", "true"))
}

// setupNames reads the query's list of databases that have to be there for the setup to be
// finished.
func setupNames(v ejson.Value) ([]string, error) {
	names := []string{}
	if v.Kind() != ejson.Array {
		return nil, compat.NewError(compat.KindBadRequest, "ensure_dbs_exist must be a list of names")
	}
	for item := range v.Elements() {
		if item.Kind() != ejson.String {
			return nil, compat.NewError(compat.KindBadRequest, "ensure_dbs_exist must be a list of names")
		}
		names = append(names, item.Text())
	}
	return names, nil
}

// haveDBs reports whether all of them are there; the first that is missing ends the look.
func haveDBs(ctx context.Context, store *storage.Store, names []string) (bool, error) {
	for _, name := range names {
		if exists, err := store.DB(name).Exists(ctx); err != nil || !exists {
			return false, err
		}
	}
	return true, nil
}

// postRestart refuses: what restarts a server is its service manager.
func postRestart(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	return errRestart
}

var errRestart = compat.NewError(compat.KindForbidden,
	"This server is restarted by its service manager, not over HTTP.")

// HashAdmins replaces the clear passwords of the section admins by their hashes, in the last ini
// file as well, or among what all nodes share: the first one to hash a password does so for all.
func HashAdmins(c *config.Config) error {
	var failed []error
	for name, stored := range c.Section("admins") {
		if principal.IsHashed(stored) {
			continue
		}
		hash, err := principal.HashAdmin(stored, auth.ReadHashing(c))
		if err == nil {
			err = c.Settle("admins", name, hash)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// hashAdmin hashes a password as the configuration says, within the bounds of all hashes; a hash is
// kept as it is.
func (h *Handlers) hashAdmin(c *call.Call, password string) (hash string, err error) {
	if principal.IsHashed(password) {
		return password, nil
	}
	err = h.verifier.Do(c.Context(), c.PeerNetwork(), func() (err error) {
		hash, err = principal.HashAdmin(password, c.Settings.Auth.Hashing)
		return err
	})
	return hash, err
}
