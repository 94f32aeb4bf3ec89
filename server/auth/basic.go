package auth

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/principal"
)

// The refusals of logins.
var (
	ErrBadBasic = compat.NewError(compat.KindBadRequest, "Authorization header has invalid base64 value")
	ErrBadLogin = compat.NewError(compat.KindUnauthorized, "Name or password is incorrect.")
)

// blanks are what base64:decode of Erlang passes over.
var blanks = strings.NewReplacer(" ", "", "\t", "")

// Basic reads an Authorization header (couch_httpd_auth:basic_name_pw). ok is false when it holds
// no credentials; the error is ErrBadBasic.
func Basic(header string) (name, password string, ok bool, err error) {
	encoded, found := strings.CutPrefix(header, "Basic ")
	if !found {
		return "", "", false, nil
	}
	var buf [96]byte
	raw, err := base64.StdEncoding.AppendDecode(buf[:0], []byte(blanks.Replace(encoded)))
	if err != nil {
		return "", "", false, ErrBadBasic
	}
	name, password, found = strings.Cut(string(raw), ":")
	if !found || (name == "_" && password == "_") {
		return "", "", false, nil
	}
	return name, password, true, nil
}

// Token reads an Authorization header that holds a bearer token
// (couch_httpd_auth:jwt_authentication_handler). ok is false when it holds none; the error is that
// of principal.CheckToken.
func Token(header string, r *principal.TokenRules, now time.Time) (name string, roles []string, ok bool, err error) {
	token, found := strings.CutPrefix(header, "Bearer ")
	if !found || strings.Trim(token, " \t") == "" {
		return "", nil, false, nil
	}
	name, roles, err = principal.CheckToken(token, r, now)
	return name, roles, err == nil, err
}
