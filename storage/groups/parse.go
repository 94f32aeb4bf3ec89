package groups

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/access"
)

const (
	// MostMembers is how many members a group has.
	MostMembers = 10_000
	// MostBytes is how many bytes the names of a group's members have together, with the name of the
	// group for each: a transaction stores all of them.
	MostBytes = 1 << 20
)

var (
	errName = compat.Named(compat.KindBadRequest, "invalid_group",
		"The name of a group has 1 to "+strconv.Itoa(access.MaxGroup)+
			" bytes, all of them of characters that can be printed.")
	errBody = compat.Named(compat.KindBadRequest, "invalid_group",
		"A group is an object of `members`, a list of names of users, role:NAME, group:NAME or _users, "+
			"each of at most "+
			strconv.Itoa(access.MaxEntry)+" bytes, and of `_rev`, where it exists.")
	errMany = compat.Named(compat.KindBadRequest, "invalid_group",
		"A group has at most "+strconv.Itoa(MostMembers)+" members, whose names have at most "+
			strconv.Itoa(MostBytes)+
			" bytes together, the group's own counted for each.")
	errRev = compat.NewError(compat.KindBadRequest, "Invalid rev format")
)

// CheckName refuses what is no name of a group, with invalid_group.
func CheckName(name string) error {
	odd := strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
	if name == "" || len(name) > access.MaxGroup || !utf8.ValidString(name) || odd {
		return errName
	}
	return nil
}

// Parse reads the body {"members": [entry, …], "_rev": "0-N"} of a group of a valid name: its members
// as sorted principals, and the number of the revision, 0 where there is none. The errors are
// *compat.Error, invalid_group or that of a revision.
func Parse(name string, body ejson.Value) (members []string, over int64, err error) {
	if body.Kind() != ejson.Object {
		return nil, 0, errBody
	}
	given := false
	for key, value := range body.Members() {
		switch {
		case key.TextIs("members") && !given:
			given = true
			if value.Kind() == ejson.Array && value.Len() > MostMembers {
				return nil, 0, errMany
			}
			ok := false
			if members, ok = access.ParseEntries(value); !ok {
				return nil, 0, errBody
			}
		case key.TextIs("_rev") && value.Kind() == ejson.String:
			if over, err = ParseRev(value.Text()); err != nil {
				return nil, 0, err
			}
		default:
			return nil, 0, errBody
		}
	}
	size := 0
	for _, principal := range members {
		size += len(principal) + len(name)
	}
	switch {
	case !given:
		return nil, 0, errBody
	case size > MostBytes:
		return nil, 0, errMany
	}
	return members, over, nil
}

// ParseRev gives the number of a revision `0-N`, N from 1 on.
func ParseRev(text string) (int64, error) {
	number, ok := strings.CutPrefix(text, "0-")
	n, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || n < 1 || strconv.FormatInt(n, 10) != number {
		return 0, errRev
	}
	return n, nil
}

// RevOf is the revision of a number.
func RevOf(n int64) compat.Rev { return compat.Rev{Hash: strconv.FormatInt(n, 10)} }
