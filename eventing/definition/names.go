package definition

import (
	"regexp"
	"strings"

	"github.com/settee-db/settee/compat"
)

const (
	maxName  = 100 // bytes of a function's name
	maxAlias = 64  // bytes of an alias
)

var (
	namePattern  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
	pathPattern  = regexp.MustCompile(`^[A-Za-z0-9_%-]{1,100}(\.[A-Za-z0-9_%-]{1,100}){2}$`)
	aliasPattern = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)
)

// Ref names a function: functions of different scopes may have the same name. The zero scope is the
// global one.
type Ref struct {
	Scope Scope
	Name  string
}

// String is the name, with its scope unless that is the global one.
func (r Ref) String() string {
	if s := r.Scope.orGlobal(); s != Global {
		return s.Bucket + "/" + s.Scope + "/" + r.Name
	}
	return r.Name
}

// Scope is which scope a function belongs to: database and scope in it, or Global.
type Scope struct {
	Bucket string `json:"bucket"`
	Scope  string `json:"scope"`
}

// Global is the scope of functions that belong to no database.
var Global = Scope{"*", "*"}

// orGlobal is the scope, where nothing is the global one.
func (s Scope) orGlobal() Scope {
	if s == (Scope{}) {
		return Global
	}
	return s
}

// NewScope makes a scope of what a query or a definition says; nothing is Global. Databases have
// one scope, _default.
func NewScope(bucket, scope string) (Scope, error) {
	s := Scope{bucket, scope}.orGlobal()
	if s == Global {
		return s, nil
	}
	if s.Scope == "" {
		s.Scope = defaultName
	}
	if err := compat.ValidateDatabaseName(s.Bucket); err != nil {
		return s, Errorf(CodeInvalidRequest, "function_scope: %q is no database", s.Bucket)
	}
	if s.Scope != defaultName {
		return s, Errorf(CodeCollectionMissing, "function_scope: there is no scope %q, only _default", s.Scope)
	}
	return s, nil
}

// CheckName refuses what cannot be the name of a function.
func CheckName(name string) error {
	if len(name) > maxName {
		return Errorf(CodeInvalidConfig, "Function name length must be at most %d", maxName)
	}
	if !namePattern.MatchString(name) {
		return Errorf(CodeInvalidConfig, "Function name can only contain characters in range A-Z, a-z, 0-9 and "+
			"underscore, hyphen, and must begin with a letter or digit: %q", name)
	}
	return nil
}

// checkAlias refuses what cannot be a global name in JavaScript and in queries.
func checkAlias(what, alias string) error {
	switch {
	case alias == "" || len(alias) > maxAlias:
		return Errorf(CodeInvalidConfig, "%s: alias %q must have 1 to %d characters", what, alias, maxAlias)
	case !aliasPattern.MatchString(alias):
		return Errorf(CodeInvalidConfig, "%s: alias %q must be a valid JavaScript variable name", what, alias)
	case isReservedJS(alias):
		return Errorf(CodeInvalidConfig, "%s: alias %q must not be a JavaScript reserved word", what, alias)
	case isReservedN1QL(alias):
		return Errorf(CodeInvalidConfig, "%s: alias %q must not be a N1QL reserved word", what, alias)
	}
	return nil
}

// aliases refuses a name that was taken before.
type aliases map[string]bool

func (a aliases) take(what, alias string) error {
	if err := checkAlias(what, alias); err != nil {
		return err
	}
	return a.add(what, alias)
}

// takePath is take for an alias that statements alone have: a bucket's name, a scope and a collection.
func (a aliases) takePath(what, alias string) error {
	if !pathPattern.MatchString(alias) || strings.HasSuffix(alias, "._default._default") {
		return Errorf(CodeInvalidConfig, "%s: alias %q must be a JavaScript variable name, or for statements "+
			"bucket.scope.collection", what, alias)
	}
	return a.add(what, alias)
}

func (a aliases) add(what, alias string) error {
	if a[alias] {
		return Errorf(CodeInvalidConfig, "%s: alias %q is not unique", what, alias)
	}
	a[alias] = true
	return nil
}
