package access

import (
	"slices"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// MaxEntries is how many entries a list has at most, MaxEntry how many bytes each.
const (
	MaxEntries = 64
	MaxEntry   = 256
	// MaxGroup is how many bytes the name of a group has: an entry names it.
	MaxGroup = MaxEntry - len(ofGroup)
)

const (
	member   = `"_access"` // of documents
	everyone = "_users"    // the entry that means Anyone
	ofRole   = "role:"     // an entry of a role
	ofGroup  = "group:"    // an entry of a group
)

// errInvalid refuses a document whose list is none.
var errInvalid = compat.Named(compat.KindBadRequest, "invalid_access",
	"_access must be a list of at most "+strconv.Itoa(MaxEntries)+" names of users, role:NAME, "+
		"group:NAME or _users, each of at most "+strconv.Itoa(MaxEntry)+" bytes")

// Parse reads the list of a document's body, the text of an object as it is stored; given is false
// where it has none. The error is a *compat.Error, invalid_access, for what is no list of entries:
// `"name"` means a user, `"role:name"` a role, `"group:name"` a group of the database, `"_users"`
// everybody who is somebody.
func Parse(body []byte) (list []string, given bool, err error) {
	for name, value := range ejson.TextMembers(body) {
		if string(name) != member {
			continue
		}
		if given {
			return nil, true, errInvalid
		}
		if list, err = parseList(value); err != nil {
			return nil, true, err
		}
		given = true
	}
	return list, given, nil
}

// parseList reads the value of the member.
func parseList(text []byte) ([]string, error) {
	p := ejson.AcquireParser()
	defer p.Release()
	v, err := p.Parse(text)
	if err != nil || v.Len() > MaxEntries {
		return nil, errInvalid
	}
	list, ok := ParseEntries(v)
	if !ok {
		return nil, errInvalid
	}
	return list, nil
}

// ParseEntries gives the principals that a list of entries means; ok is false if it is none.
func ParseEntries(v ejson.Value) (list []string, ok bool) {
	if v.Kind() != ejson.Array {
		return nil, false
	}
	list = make([]string, 0, v.Len())
	for entry := range v.Elements() {
		principal := ""
		if entry.Kind() == ejson.String {
			principal = PrincipalOf(entry.Text())
		}
		if principal == "" {
			return nil, false
		}
		list = append(list, principal)
	}
	slices.Sort(list)
	return slices.Compact(list), true
}

// PrincipalOf is what an entry means, "" for none. Names of users cannot begin with an underscore,
// nor have a colon.
func PrincipalOf(text string) string {
	role, isRole := strings.CutPrefix(text, ofRole)
	group, isGroup := strings.CutPrefix(text, ofGroup)
	switch {
	case len(text) > MaxEntry || text == "" || isRole && role == "" || isGroup && group == "":
		return ""
	case isRole:
		return RolePrefix + role
	case isGroup:
		return GroupPrefix + group
	case text == everyone:
		return Anyone
	case text[0] == '_':
		return ""
	}
	return UserPrefix + text
}

// Entries says a list of principals in the words that Parse reads.
func Entries(list []string) []string {
	entries := make([]string, len(list))
	for i, p := range list {
		user, isUser := strings.CutPrefix(p, UserPrefix)
		group, isGroup := strings.CutPrefix(p, GroupPrefix)
		switch {
		case isUser:
			entries[i] = user
		case isGroup:
			entries[i] = ofGroup + group
		case p == Anyone:
			entries[i] = everyone
		default:
			entries[i] = ofRole + strings.TrimPrefix(p, RolePrefix)
		}
	}
	return entries
}
