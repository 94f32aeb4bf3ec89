package principal

import (
	"crypto/ecdsa"
	"encoding/base64"
	"math/big"
	"regexp"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// TokenRules are the settings of section jwt_auth, and the keys.
type TokenRules struct {
	Keys      Keys
	Claims    Claims
	RolesName string   // top-level claim that holds the roles
	RolesPath []string // path of the claim that holds the roles; wins over RolesName if it is not empty
}

// Claims are the required claims: those that a token must have, with the value it must have or ""
// for any.
type Claims struct {
	names  map[string]string
	broken bool
}

func badToken(reason string) *compat.Error { return compat.NewError(compat.KindBadRequest, reason) }

var (
	errMalformed     = badToken("Malformed authentication token")
	errBadRoles      = badToken("Malformed token")
	errNotAnObject   = badToken("Not an object")
	errBadHMAC       = badToken("Bad HMAC in authentication token")
	errBadSignature  = badToken("Bad signature in authentication token")
	errNoSubject     = compat.NewError(compat.KindUnauthorized, "Token missing sub claim.")
	errMisconfigured = compat.Named(compat.KindError, "misconfigured_server", "JWT is not configured correctly")
)

// algorithms are the signature algorithms that CouchDB accepts; `none` is not among them.
var algorithms = map[string]jwt.SigningMethod{
	"RS256": jwt.SigningMethodRS256, "RS384": jwt.SigningMethodRS384, "RS512": jwt.SigningMethodRS512,
	"ES256": jwt.SigningMethodES256, "ES384": jwt.SigningMethodES384, "ES512": jwt.SigningMethodES512,
	"HS256": jwt.SigningMethodHS256, "HS384": jwt.SigningMethodHS384, "HS512": jwt.SigningMethodHS512,
}

var claimPattern = regexp.MustCompile(`([a-z]+)|\{([a-z]+)\s*,\s*"([^"]+)"\}`)

// ParseClaims reads the setting required_claims: names, and {name, "value"}. One that holds no
// name, or asks for what is never checked, refuses every token (jwtf:validate_checks).
func ParseClaims(setting string) Claims {
	c := Claims{names: make(map[string]string)}
	matches := claimPattern.FindAllStringSubmatch(setting, -1)
	c.broken = len(matches) == 0 && setting != ""
	for _, m := range matches {
		name := m[1] + m[2]
		_, twice := c.names[name]
		c.names[name] = m[3]
		switch name {
		case "iss", "kid", "sig", "typ":
			c.broken = c.broken || twice
		case "exp", "iat", "nbf": // of any value
			c.broken = c.broken || twice || m[3] != ""
		default:
			c.broken = true
		}
	}
	return c
}

// ParsePath splits the setting roles_claim_path at dots; a dot after a backslash belongs to a name.
func ParsePath(setting string) []string {
	if setting == "" {
		return nil
	}
	const escaped = "\x00"
	parts := strings.Split(strings.ReplaceAll(setting, `\.`, escaped), ".")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], escaped, ".")
	}
	return parts
}

// CheckToken returns the user that a bearer token names, and the roles
// (couch_httpd_auth:jwt_authentication_handler). Header, claims, key and signature are checked in
// this order.
func CheckToken(token string, r *TokenRules, now time.Time) (name string, roles []string, err error) {
	claims, err := verifyToken(token, r, now)
	if err != nil {
		return "", nil, err
	}
	if roles, err = r.roles(claims); err != nil {
		return "", nil, err
	}
	sub, found := claims.Get("sub")
	switch {
	case !found:
		return "", nil, errNoSubject
	case sub.Kind() != ejson.String || sub.Text() == "":
		return "", nil, badToken("Invalid sub claim")
	}
	return sub.Text(), roles, nil
}

// verifyToken checks a token in the order of CouchDB's jwtf: header, claims, key, and the signature
// last. So an expired token with a wrong signature is answered as expired. The result is the
// claims, a JSON object; errors have the wire's status and reason.
func verifyToken(token string, r *TokenRules, now time.Time) (claims ejson.Value, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims, errMalformed
	}
	if r.Claims.broken {
		return claims, errMisconfigured
	}
	header, err := tokenObject(parts[0])
	if err != nil {
		return claims, err
	}
	method, kid, err := r.Claims.checkHeader(header)
	if err != nil {
		return claims, err
	}
	if claims, err = tokenObject(parts[1]); err != nil {
		return claims, err
	}
	if err := r.Claims.check(claims, now); err != nil {
		return claims, err
	}
	key, err := r.Keys.find(method.Alg(), kid)
	if err != nil {
		return claims, err
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err == nil {
		err = verifySignature(method, token[:len(token)-len(parts[2])-1], signature, key)
	}
	if err == nil {
		return claims, nil
	}
	if strings.HasPrefix(method.Alg(), "HS") {
		return claims, errBadHMAC
	}
	return claims, errBadSignature
}

// verifySignature checks a signature. With ES256, ES384 and ES512 the algorithm says the hash, the
// key says the curve, and the signature is two numbers of equal length, however long
// (jwtf:jose_to_der). RFC 7518 has one curve for each; CouchDB's own tests have one key for all
// three. P-224 is too weak.
func verifySignature(method jwt.SigningMethod, text string, signature []byte, key any) error {
	ec, isEC := method.(*jwt.SigningMethodECDSA)
	if !isEC {
		return method.Verify(text, signature, key)
	}
	public, ok := key.(*ecdsa.PublicKey)
	half := len(signature) / 2
	if !ok || public.Curve.Params().BitSize < 256 || len(signature)%2 != 0 {
		return errBadSignature
	}
	hash := ec.Hash.New()
	hash.Write([]byte(text))
	r, s := new(big.Int).SetBytes(signature[:half]), new(big.Int).SetBytes(signature[half:])
	if !ecdsa.Verify(public, hash.Sum(nil), r, s) {
		return errBadSignature
	}
	return nil
}

// tokenObject decodes one part of a token, which has to be a JSON object.
func tokenObject(part string) (ejson.Value, error) {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return ejson.Value{}, errMalformed
	}
	v, err := ejson.Parse(raw)
	switch {
	case err != nil:
		return v, errMalformed
	case v.Kind() != ejson.Object:
		return v, errNotAnObject
	}
	return v, nil
}

// checkHeader checks typ where it is required, alg and kid (jwtf:validate_header).
func (c Claims) checkHeader(header ejson.Value) (method jwt.SigningMethod, kid string, err error) {
	typ, given := header.Get("typ")
	_, required := c.names["typ"]
	switch {
	case !given && required:
		return nil, "", badToken("Missing typ header parameter")
	case required && !(typ.Kind() == ejson.String && typ.TextIs("JWT")):
		return nil, "", badToken("Invalid typ header parameter")
	}
	alg, given := header.Get("alg")
	if !given {
		return nil, "", badToken("Missing alg header parameter")
	}
	if alg.Kind() == ejson.String {
		method = algorithms[alg.Text()]
	}
	if method == nil {
		return nil, "", badToken("Invalid alg header parameter")
	}
	id, given := header.Get("kid")
	_, required = c.names["kid"]
	switch {
	case !given && required:
		return nil, "", badToken("Missing kid claim")
	case !given:
		return method, "_default", nil
	case id.Kind() != ejson.String:
		return nil, "", errUnknownKID
	}
	return method, id.Text(), nil
}

// check checks the required claims (jwtf:validate_payload), in CouchDB's order. Times that are no
// numbers, which CouchDB accepts or not by the order of Erlang's terms, are refused.
func (c Claims) check(claims ejson.Value, now time.Time) error {
	seconds := float64(now.Unix())
	for _, name := range [...]string{"iss", "iat", "nbf", "exp"} {
		want, required := c.names[name]
		if !required {
			continue
		}
		claim, given := claims.Get(name)
		if !given {
			return badToken("Missing " + name + " claim")
		}
		valid := claim.Kind() == ejson.String && want != "" && claim.TextIs(want)
		if name != "iss" {
			_, valid = claim.Float()
		}
		if name == "iat" {
			_, valid = claim.Int()
		}
		if !valid {
			return badToken("Invalid " + name + " claim")
		}
		switch at, _ := claim.Float(); {
		case name == "nbf" && at >= seconds:
			return compat.NewError(compat.KindUnauthorized, "nbf not in past")
		case name == "exp" && at <= seconds:
			return compat.NewError(compat.KindUnauthorized, "exp not in future")
		}
	}
	return nil
}

// roles finds the claim with the roles (couch_httpd_auth:get_roles_claim): a list of strings, or a
// text with commas.
func (r *TokenRules) roles(claims ejson.Value) ([]string, error) {
	list, found := claims, false
	for _, name := range r.RolesPath {
		if list.Kind() == ejson.Object {
			list, found = list.Get(name)
		} else {
			found = false
		}
		if !found {
			return nil, compat.NewError(compat.KindNotFound, "missing json key: "+name)
		}
	}
	if r.RolesPath == nil {
		if list, found = claims.Get(r.RolesName); !found {
			return []string{}, nil
		}
	}
	switch list.Kind() {
	case ejson.String:
		return SplitRoles(list.Text()), nil
	case ejson.Array:
		roles := make([]string, 0, list.Len())
		for role := range list.Elements() {
			if role.Kind() != ejson.String {
				return nil, errBadRoles
			}
			roles = append(roles, role.Text())
		}
		return roles, nil
	}
	return nil, errBadRoles
}
