package replicator

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/forward"
)

// postReplicate serves POST /_replicate. The body comes first, whatever the method and the user
// (chttpd_misc:handle_replicate_req).
func (r *Replications) postReplicate(c *call.Call) error {
	body, err := r.readReplicate(c)
	if err != nil {
		return err
	}
	set := r.Settings()
	spec, err := replication.ParseSpec(body.value, set)
	if err != nil {
		return specError(err)
	}
	spec.Begun = time.Now()
	spec.User = replication.UserContext{Name: c.User.Name, Roles: c.User.Roles}
	spec.Source.Local, spec.Source.IsLocal = body.local("source")
	spec.Target.Local, spec.Target.IsLocal = body.local("target")
	if spec.Options.Cancel {
		return r.cancelReplication(c, spec, body.sent)
	}
	scheduler := r.scheduler
	if err := scheduler.Identify(c.Context(), spec); err != nil {
		return replicationError(err)
	}
	if !forward.Passed(c) { // who asks twice waits for the one that runs, whichever node that was asked of
		node, is, err := r.elsewhere(c.Context(), spec.ID)
		if err != nil {
			return err
		}
		if is {
			if err := r.nodes.To(c, node, body.sent, 0); !errors.Is(err, forward.ErrNoAnswer) {
				return err
			}
		}
	}
	wait, err := scheduler.Add(spec, c.User.IsAdmin())
	if err != nil {
		return replicationError(err)
	}
	if wait == nil {
		return c.JSON(http.StatusAccepted, appendLocalID(spec.ID))
	}
	select {
	case outcome := <-wait:
		return answerReplication(c, outcome)
	case <-c.Context().Done():
		return call.ErrClientGone
	}
}

// answerReplication answers a replication that has ended.
func answerReplication(c *call.Call, o replication.Outcome) error {
	switch {
	case o.Stopped:
		return c.JSON(http.StatusOK, []byte(`{"ok":"stopped"}`))
	case o.Err != nil:
		return replicationError(o.Err)
	}
	return c.JSON(http.StatusOK, append([]byte(`{"ok":true,`), o.Result[1:]...))
}

func appendLocalID(id replication.JobID) []byte {
	return append(ejson.AppendString([]byte(`{"ok":true,"_local_id":`), id.String()), '}')
}

// cancelReplication cancels a replication at all nodes that have it: of two that were asked for it
// before it had its claim one waits for the other. sent is the request's body.
func (r *Replications) cancelReplication(c *call.Call, spec *replication.Spec, sent []byte) error {
	scheduler := r.scheduler
	if spec.Options.CancelID != nil {
		spec.ID = *spec.Options.CancelID
	} else if err := scheduler.Identify(c.Context(), spec); err != nil {
		return replicationError(err)
	}
	found, err := scheduler.Cancel(spec.ID, spec.User, c.User.IsAdmin())
	if err != nil {
		return replicationError(err)
	}
	for _, answer := range r.nodes.All(c, "/_replicate", sent) {
		if !found && answer.Status != http.StatusNotFound {
			return c.JSON(answer.Status, answer.Body)
		}
	}
	if !found && r.shared != nil {
		if found, err = r.shared.cancelPaused(c.Context(), spec.ID, c.User.Name, c.User.IsAdmin()); err != nil {
			return replicationError(err)
		}
	}
	if !found {
		return compat.ErrMissing
	}
	return c.JSON(http.StatusOK, appendLocalID(spec.ID))
}

// replicateBody is the body of _replicate after names of databases were made endpoints of this
// server.
type replicateBody struct {
	sent   []byte // as it came, for other nodes
	value  ejson.Value
	locals map[string]string
}

// local is the name of a database that the body names without a URL.
func (b *replicateBody) local(side string) (name string, is bool) {
	name, is = b.locals[side]
	return name, is
}

// readReplicate makes the checks of the request, and replaces what is no URL (chttpd:possibly_hack,
// fix_uri).
func (r *Replications) readReplicate(c *call.Call) (*replicateBody, error) {
	v, err := c.JSONObject()
	if err != nil {
		return nil, err
	}
	if c.User.Name == "" {
		return nil, call.ErrNotSignedIn
	}
	if c.Method != http.MethodPost {
		return nil, compat.MethodNotAllowed("POST")
	}
	if err := c.RequireJSON(); err != nil {
		return nil, err
	}
	c.Request.Header.Del("Content-Encoding") // other nodes get it unpacked
	body := &replicateBody{sent: v.AppendJSON(nil), locals: map[string]string{}}
	replaced := map[string][]byte{}
	for _, side := range []string{"source", "target"} {
		endpoint, given := v.Get(side)
		if endpoint.Kind() == ejson.Object {
			endpoint, given = endpoint.Get("url")
		}
		if !given || endpoint.Kind() == ejson.String && isHTTP(endpoint.Text()) {
			continue
		}
		name, err := localName(endpoint)
		if err != nil {
			return nil, err
		}
		body.locals[side] = name
		replaced[side] = r.localEndpoint(c, name)
	}
	body.value, err = ejson.Parse(withMembers(v, replaced))
	return body, err
}

func isHTTP(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// localName is what an endpoint says that is no URL (mochiweb_util:quote_plus).
func localName(v ejson.Value) (string, error) {
	switch v.Kind() {
	case ejson.String:
		return v.Text(), nil
	case ejson.Null, ejson.Bool, ejson.Int, ejson.Double:
		return string(v.AppendJSON(nil)), nil
	case ejson.Object:
		return "", compat.ErrFunctionClause
	}
	return "", compat.ErrBadArg
}

// localEndpoint is the endpoint of a database of this server with the caller's credentials
// (chttpd:make_uri). Only the id of the replication depends on it: nobody connects to it.
func (r *Replications) localEndpoint(c *call.Call, name string) []byte {
	cookie := ""
	if session, err := c.Request.Cookie("AuthSession"); err == nil {
		cookie = "AuthSession=" + session.Value
	}
	b := ejson.AppendString([]byte(`{"url":`), "http://"+r.ownAddress()+"/"+url.QueryEscape(name))
	b = ejson.AppendString(append(b, `,"headers":{"authorization":`...), c.Header("Authorization"))
	b = ejson.AppendString(append(b, `,"cookie":`...), cookie)
	return append(b, "}}"...)
}

// ownAddress is where this server answers, chttpd/bind_address with the port it listens on.
func (r *Replications) ownAddress() string {
	port := cmp.Or(r.port(), r.env.Config.String("chttpd", "port"))
	return net.JoinHostPort(r.env.Config.String("chttpd", "bind_address"), port)
}

// withMembers prints an object with other values for some members, which then come first.
func withMembers(v ejson.Value, members map[string][]byte) []byte {
	b := []byte{'{'}
	for _, side := range []string{"target", "source"} {
		if json, ok := members[side]; ok {
			b = append(append(ejson.AppendString(comma(b), side), ':'), json...)
		}
	}
	for name, value := range v.Members() {
		if _, ok := members[name.Text()]; !ok {
			b = value.AppendJSON(append(name.AppendJSON(comma(b)), ':'))
		}
	}
	return append(b, '}')
}

func comma(b []byte) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	return b
}

// specError answers a request that is no replication.
func specError(err error) error {
	var bad *replication.SpecError
	if !errors.As(err, &bad) {
		return err
	}
	switch bad.Class {
	case replication.SpecBadRequest:
		return compat.NewError(compat.KindBadRequest, bad.Reason)
	case replication.SpecCrash:
		return compat.NewError(compat.KindUnknown, bad.Reason)
	}
	if strings.HasSuffix(bad.Reason, " has an invalid url") {
		return compat.NewError(compat.KindInvalidReplication, bad.Reason)
	}
	return compat.NewError(compat.KindError, bad.Reason)
}

// replicationError answers a replication that failed (chttpd:error_info).
func replicationError(err error) error {
	var f *replication.Failure
	var filter *replication.FilterError
	switch {
	case errors.Is(err, replication.ErrNotAllowed):
		return documents.ErrNotServerAdmin
	case errors.As(err, &filter):
		return compat.NewError(compat.KindNotFound, filter.Reason)
	case !errors.As(err, &f):
		return err
	}
	switch {
	case f.Tag == "unauthorized" && f.Term == "":
		return compat.NewError(compat.KindUnauthorized, f.Reason)
	case f.Tag == "forbidden" && f.Term == "":
		return compat.NewError(compat.KindForbidden, f.Reason)
	case f.Inner != "":
		return compat.Named(compat.KindError, f.Tag, f.Inner)
	case f.Term != "":
		return compat.NewError(compat.KindError, f.Text())
	}
	return compat.Named(compat.KindError, f.Tag, f.Reason)
}

// replicatePath answers paths below _replicate, for which CouchDB has no clause.
func replicatePath(c *call.Call) error {
	if c.Method != http.MethodPost {
		return compat.MethodNotAllowed("POST")
	}
	if err := c.RequireJSON(); err != nil {
		return err
	}
	return compat.ErrFunctionClause
}
