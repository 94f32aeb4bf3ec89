package server

import (
	"errors"
	"regexp"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/storage"
)

// This file is about replicator databases as databases: what happens to documents on their way in and out
// (couch_replicator_docs). What they do is the scheduler's business.

// isReplicatorDB tells the databases whose documents are replications.
func (c *Call) isReplicatorDB() bool { return replication.IsReplicatorDB(c.db.Name()) }

var errForeignReplication = compat.NewError(compat.KindForbidden, "Can't update replication documents from other users.")

// prepareReplications gives documents their owner and refuses those that are no replications
// (couch_replicator_docs:before_doc_update).
func (c *Call) prepareReplications(docs []*compat.Document) error {
	if c.user.HasRole("_replicator") {
		return nil
	}
	for _, d := range docs {
		if compat.IsDesignID(d.ID) || compat.IsLocalID(d.ID) {
			continue
		}
		body, err := ejson.Parse(d.Body.JSON)
		if err != nil {
			return err
		}
		owned, err := c.withOwner(body)
		if err != nil {
			return err
		}
		if owned != nil {
			if d.Body, err = compat.NewBody(owned); err != nil {
				return err
			}
			if body, err = ejson.Parse(owned); err != nil {
				return err
			}
		}
		if state, _ := body.Get("_replication_state"); d.Deleted || state.Kind() == ejson.String && state.Text() == "failed" {
			continue
		}
		if _, err := replication.ParseSpec(body, c.srv.replications.settings()); err != nil {
			return forbiddenSpec(err)
		}
	}
	return nil
}

func forbiddenSpec(err error) error {
	var bad *replication.SpecError
	if errors.As(err, &bad) {
		return compat.NewError(compat.KindForbidden, bad.Forbidden())
	}
	return err
}

// withOwner is the body with the writer as owner where it names none, nil if it stays as it is. Others than the writer can
// only be named by admins.
func (c *Call) withOwner(body ejson.Value) ([]byte, error) {
	name := []byte("null")
	if c.user.Name != "" {
		name = ejson.AppendString(nil, c.user.Name)
	}
	owner, given := body.Get("owner")
	if !given {
		return setMember(body, "owner", name), nil
	}
	if string(owner.AppendJSON(nil)) == string(name) {
		return nil, nil
	}
	admin, err := c.isDBAdmin()
	switch {
	case err != nil:
		return nil, err
	case !admin:
		return nil, errForeignReplication
	case owner.IsNull():
		return setMember(body, "owner", name), nil
	}
	return nil, nil
}

// setMember prints an object with a member of that value, at its place or last.
func setMember(v ejson.Value, name string, json []byte) []byte {
	b, found := []byte{'{'}, false
	for key, value := range v.Members() {
		b = append(key.AppendJSON(comma(b)), ':')
		if key.TextIs(name) {
			found = true
			b = append(b, json...)
			continue
		}
		b = value.AppendJSON(b)
	}
	if !found {
		b = append(append(ejson.AppendString(comma(b), name), ':'), json...)
	}
	return append(b, '}')
}

// hidesReplications tells whether the user may not see the credentials in others' documents.
func (c *Call) hidesReplications() bool {
	return c.isReplicatorDB() && !c.user.IsAdmin() && !c.user.HasRole("_replicator")
}

var urlCredentials = regexp.MustCompile(`http(s)?://(?:[^:]+):[^@]+@(.*)$`)

// shownReplication takes credentials out of another user's document, which then gets a revision of its own
// (couch_replicator_docs:after_doc_read).
func (c *Call) shownReplication(d *storage.Document) error {
	if compat.IsDesignID(d.ID) || compat.IsLocalID(d.ID) {
		return nil
	}
	if admin, err := c.isDBAdmin(); admin || err != nil {
		return err
	}
	body, err := ejson.Parse(d.Body)
	if err != nil {
		return err
	}
	owner, given := body.Get("owner")
	if given && (owner.IsNull() && c.user.Name == "" || owner.Kind() == ejson.String && owner.Text() == c.user.Name) {
		return nil
	}
	for _, side := range []string{"source", "target"} {
		endpoint, given := body.Get(side)
		if !given {
			continue
		}
		if body, err = ejson.Parse(setMember(body, side, withoutCredentials(endpoint))); err != nil {
			return err
		}
	}
	stripped, err := compat.NewBody(body.AppendJSON(nil))
	if err != nil {
		return err
	}
	parent := compat.Rev{}
	if len(d.Revs.IDs) > 1 {
		parent = compat.Rev{Pos: d.Revs.Start - 1, Hash: d.Revs.IDs[1]}
	}
	atts := make([]compat.RevAttachment, len(d.Attachments))
	for i := range d.Attachments {
		atts[i] = compat.RevAttachment{Name: d.Attachments[i].Name, Type: d.Attachments[i].Type, MD5: d.Attachments[i].Digest}
	}
	d.Body = stripped.JSON
	d.Rev.Hash = compat.NewRev(parent, d.Deleted, stripped.Term, atts).Hash
	if len(d.Revs.IDs) > 0 {
		d.Revs.IDs = slices.Clone(d.Revs.IDs)
		d.Revs.IDs[0] = d.Rev.Hash
	}
	return nil
}

// withoutCredentials is an endpoint without user and password in its URL, or without headers and auth.
func withoutCredentials(v ejson.Value) []byte {
	switch v.Kind() {
	case ejson.String:
		text := v.Text()
		if m := urlCredentials.FindStringSubmatchIndex(text); m != nil {
			text = text[:m[0]] + string(urlCredentials.ExpandString(nil, "http${1}://${2}", text, m)) + text[m[1]:]
		}
		return ejson.AppendString(nil, text)
	case ejson.Object:
		b := []byte{'{'}
		for name, value := range v.Members() {
			if name.TextIs("headers") || name.TextIs("auth") {
				continue
			}
			b = value.AppendJSON(append(name.AppendJSON(comma(b)), ':'))
		}
		return append(b, '}')
	}
	return v.AppendJSON(nil)
}
