package principal

import (
	"slices"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Writer is who writes a user document.
type Writer struct {
	Name        string // "" for nobody
	ServerAdmin bool
	DBAdmin     bool // of the users database; server admins are
	// MaxIterations is the costliest hash that a writer who is no admin may bring along: every
	// login with it costs that.
	MaxIterations int64
}

func forbidden(reason string) error { return compat.NewError(compat.KindForbidden, reason) }

// CheckUserDoc applies the rules of the users database to a new revision: those of the built-in
// design document, in its order and words. old is the revision it replaces, an invalid Value if
// there is none. Bodies are objects without special members.
func CheckUserDoc(id string, deleted bool, doc, old ejson.Value, w Writer) error {
	if deleted {
		name, _ := old.Get("name")
		if w.ServerAdmin || w.Name != "" && name.Kind() == ejson.String && name.TextIs(w.Name) {
			return nil
		}
		return forbidden("Only admins may delete other user docs.")
	}
	name, roles, err := checkFields(id, doc, old)
	if err != nil {
		return err
	}
	if err := checkHash(doc); err != nil {
		return err
	}
	if !w.ServerAdmin && !w.DBAdmin {
		if err := checkOwn(name, roles, old, w); err != nil {
			return err
		}
		if err := checkCost(doc, old, w); err != nil {
			return err
		}
	}
	for _, role := range roles {
		if role != "_metrics" && strings.HasPrefix(role, "_") {
			return forbidden("No system roles (starting with underscore) in users db.")
		}
	}
	switch {
	case strings.HasPrefix(name, "_"):
		return forbidden("Username may not start with underscore.")
	case strings.Contains(name, ":"):
		return forbidden("Character `:` is not allowed in usernames.")
	}
	return nil
}

// checkFields checks type, name, roles and id.
func checkFields(id string, doc, old ejson.Value) (name string, roles []string, err error) {
	kind, _ := doc.Get("type")
	if kind.Kind() != ejson.String || !kind.TextIs("user") {
		return "", nil, forbidden("doc.type must be user")
	}
	nameValue, _ := doc.Get("name")
	if !truthy(nameValue) {
		return "", nil, forbidden("doc.name is required")
	}
	list, _ := doc.Get("roles")
	switch {
	case !truthy(list):
		return "", nil, forbidden("doc.roles must exist")
	case list.Kind() != ejson.Array:
		return "", nil, forbidden("doc.roles must be an array")
	}
	roles, ok := stringList(list)
	if !ok {
		return "", nil, forbidden("doc.roles can only contain strings")
	}
	name = nameValue.Text()
	if nameValue.Kind() != ejson.String || id != DocPrefix+name {
		return "", nil, forbidden("Doc ID must be of the form org.couchdb.user:name")
	}
	if old.Kind() == ejson.Object {
		if before, _ := old.Get("name"); before.Kind() != ejson.String || before.Text() != name {
			return "", nil, forbidden("Usernames can not be changed.")
		}
	}
	return name, roles, nil
}

// checkHash checks the fields of a ready-made hash.
func checkHash(doc ejson.Value) error {
	hash, _ := doc.Get("password_sha")
	salt, _ := doc.Get("salt")
	if truthy(hash) && !truthy(salt) {
		return forbidden("Users with password_sha must have a salt.See /_utils/script/couch.js for example code.")
	}
	value, _ := doc.Get("password_scheme")
	if !truthy(value) {
		return nil
	}
	scheme := value.Text()
	if value.Kind() != ejson.String {
		scheme = string(value.AppendJSON(nil))
	}
	if !slices.Contains([]string{SchemeSimple, SchemePBKDF2, SchemeLegacy}, scheme) {
		return forbidden("Password scheme `" + scheme + "` not supported.")
	}
	if scheme != SchemePBKDF2 {
		return nil
	}
	iterations, _ := doc.Get("iterations")
	key, _ := doc.Get("derived_key")
	switch {
	case iterations.Kind() != ejson.Int && iterations.Kind() != ejson.Double:
		return forbidden("iterations must be a number.")
	case key.Kind() != ejson.String:
		return forbidden("derived_key must be a string.")
	}
	return nil
}

// checkOwn checks what someone who is no admin may do: change the own document, but not its roles,
// or create one without any.
func checkOwn(name string, roles []string, old ejson.Value, w Writer) error {
	if old.Kind() != ejson.Object {
		if len(roles) > 0 {
			return forbidden("Only _admin may set roles")
		}
		return nil
	}
	if w.Name == "" || w.Name != name {
		return forbidden("You may only update your own user document.")
	}
	list, _ := old.Get("roles")
	before, _ := stringList(list)
	after := slices.Clone(roles)
	slices.Sort(before)
	slices.Sort(after)
	if !slices.Equal(before, after) {
		return forbidden("Only _admin may edit roles")
	}
	return nil
}

// checkCost refuses a hash that takes longer than the server's own, unless it was there before.
// CouchDB has no such rule: there anybody with an account can make a login take minutes.
func checkCost(doc, old ejson.Value, w Writer) error {
	iterations, _ := doc.Get("iterations")
	if n, ok := iterations.Float(); !ok || n <= float64(w.MaxIterations) {
		return nil
	}
	if old.Kind() == ejson.Object {
		if before, _ := old.Get("iterations"); string(before.AppendJSON(nil)) == string(iterations.AppendJSON(nil)) {
			return nil
		}
	}
	return errIterations[1]
}

// stringList gives the texts of a JSON array; false if it is none or has anything but strings.
func stringList(list ejson.Value) ([]string, bool) {
	if list.Kind() != ejson.Array {
		return nil, false
	}
	out := make([]string, 0, list.Len())
	for item := range list.Elements() {
		if item.Kind() != ejson.String {
			return nil, false
		}
		out = append(out, item.Text())
	}
	return out, true
}

// truthy is JavaScript's notion of a value that counts as true.
func truthy(v ejson.Value) bool {
	switch v.Kind() {
	case ejson.Object, ejson.Array:
		return true
	case ejson.String:
		return !v.TextIs("")
	case ejson.Int, ejson.Double:
		f, ok := v.Float()
		return !ok || f != 0
	}
	return isTrue(v)
}
