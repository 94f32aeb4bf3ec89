package documents

import (
	"context"
	"regexp"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/docread"
)

// This file is about replicator databases as databases: what happens to documents on their way in
// and out (couch_replicator_docs). What they do is the scheduler's business.

// replicatorDB is a replicator database: what is written to it, and what is shown of it.
type replicatorDB struct{ d *Database }

var errForeignReplication = compat.NewError(compat.KindForbidden,
	"Can't update replication documents from other users.")

// prepare gives documents their owner and refuses those that are no replications
// (couch_replicator_docs:before_doc_update).
func (r replicatorDB) prepare(ctx context.Context, docs []*compat.Document) error {
	if r.d.who.HasRole("_replicator") {
		return nil
	}
	for _, doc := range docs {
		if compat.IsDesignID(doc.ID) || compat.IsLocalID(doc.ID) {
			continue
		}
		body, err := ejson.Parse(doc.Body.JSON)
		if err != nil {
			return err
		}
		owned, err := r.withOwner(ctx, body)
		if err != nil {
			return err
		}
		if owned != nil {
			if doc.Body, err = compat.NewBody(owned); err != nil {
				return err
			}
			if body, err = ejson.Parse(owned); err != nil {
				return err
			}
		}
		if state, _ := body.Get("_replication_state"); doc.Deleted ||
			state.Kind() == ejson.String && state.Text() == "failed" {
			continue
		}
		if err := r.d.store.o.CheckReplication(body); err != nil {
			return err
		}
	}
	return nil
}

// withOwner is the body with the writer as owner where it names none, nil if it stays as it is.
// Others than the writer can only be named by admins.
func (r replicatorDB) withOwner(ctx context.Context, body ejson.Value) ([]byte, error) {
	name := []byte("null")
	if r.d.who.Name != "" {
		name = ejson.AppendString(nil, r.d.who.Name)
	}
	owner, given := body.Get("owner")
	if !given {
		return setMember(body, "owner", name), nil
	}
	if string(owner.AppendJSON(nil)) == string(name) {
		return nil, nil
	}
	admin, err := r.d.Access().IsAdmin(ctx)
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
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(key.AppendJSON(b), ':')
		if key.TextIs(name) {
			found = true
			b = append(b, json...)
			continue
		}
		b = value.AppendJSON(b)
	}
	if !found {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(ejson.AppendString(b, name), ':'), json...)
	}
	return append(b, '}')
}

// hides reports whether the credentials in documents of other users are to be removed for the
// principal.
func (r replicatorDB) hides() bool {
	return compat.IsReplicatorDB(r.d.Name()) && !r.d.who.IsAdmin() && !r.d.who.HasRole("_replicator")
}

var urlCredentials = regexp.MustCompile(`http(s)?://(?:[^:]+):[^@]+@(.*)$`)

// show takes credentials out of another user's document, which then gets a revision of
// its own (couch_replicator_docs:after_doc_read).
func (r replicatorDB) show(ctx context.Context, doc *docread.Document) error {
	if compat.IsDesignID(doc.ID) || compat.IsLocalID(doc.ID) {
		return nil
	}
	if admin, err := r.d.Access().IsAdmin(ctx); admin || err != nil {
		return err
	}
	body, err := ejson.Parse(doc.Body)
	if err != nil {
		return err
	}
	owner, given := body.Get("owner")
	if given && (owner.IsNull() && r.d.who.Name == "" || owner.Kind() == ejson.String && owner.Text() == r.d.who.Name) {
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
	if len(doc.Revs.IDs) > 1 {
		parent = compat.Rev{Pos: doc.Revs.Start - 1, Hash: doc.Revs.IDs[1]}
	}
	atts := make([]compat.RevAttachment, len(doc.Attachments))
	for i := range doc.Attachments {
		atts[i] = compat.RevAttachment{
			Name: doc.Attachments[i].Name,
			Type: doc.Attachments[i].Type,
			MD5:  doc.Attachments[i].Digest,
		}
	}
	doc.Body = stripped.JSON
	doc.Rev.Hash = compat.NewRev(parent, doc.Deleted, stripped.Term, atts).Hash
	if len(doc.Revs.IDs) > 0 {
		doc.Revs.IDs = slices.Clone(doc.Revs.IDs)
		doc.Revs.IDs[0] = doc.Rev.Hash
	}
	return nil
}

// withoutCredentials is an endpoint without user and password in its URL, or without headers and
// auth.
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
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = value.AppendJSON(append(name.AppendJSON(b), ':'))
		}
		return append(b, '}')
	}
	return v.AppendJSON(nil)
}
