package session

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/server/auth"
	"github.com/settee-db/settee/server/call"
)

var (
	errPleaseLogin    = compat.NewError(compat.KindUnauthorized, "Please login.")
	errNoUsername     = compat.NewError(compat.KindBadRequest, "request body must contain a username")
	errTwoUsernames   = compat.NewError(compat.KindBadRequest, "request body contains different usernames")
	errRedirectPath   = compat.NewError(compat.KindBadRequest, "path must begin with a /.")
	errSessionContent = compat.NewError(compat.KindBadContentType,
		"Content-Type must be 'application/x-www-form-urlencoded' or 'application/json'")
)

// getSession tells who the client is.
func getSession(c *call.Call) error {
	if basic, _ := c.Query.First("basic"); basic == "true" && c.User.Name == "" {
		return errPleaseLogin
	}
	b := append([]byte(nil), `{"ok":true,"userCtx":{"name":`...)
	if c.User.Name == "" {
		b = append(b, "null"...)
	} else {
		b = ejson.AppendString(b, c.User.Name)
	}
	b = ejson.AppendStrings(append(b, `,"roles":`...), c.User.Roles)
	b = append(b, `},"info":{"authentication_handlers":[`...)
	for i, name := range c.Settings.Auth.Handlers {
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendString(b, name)
	}
	b = append(b, ']')
	if c.IdentifiedBy != "" {
		b = ejson.AppendString(append(b, `,"authenticated":`...), c.IdentifiedBy)
	}
	if c.Settings.Auth.ShowUsersDB {
		b = ejson.AppendString(append(b, `,"authentication_db":`...), c.Settings.Auth.UsersDB)
	}
	return c.JSON(http.StatusOK, append(b, "}}"...))
}

// credentials are the fields of a login.
type credentials struct{ name, password, token string }

// postSession logs in (couch_httpd_auth:handle_session_req).
func (h *Handlers) postSession(c *call.Call) error {
	login, err := readLogin(c)
	if err != nil {
		return err
	}
	u, err := h.findUser(c, login.name)
	if err != nil {
		return err
	}
	ok, err := h.checkPassword(c, login.name, login.password, u)
	if err != nil {
		return err
	}
	if !ok {
		return loginFailed(c)
	}
	if u.TOTP != nil && !u.TOTP.Verify(login.token, time.Now()) {
		h.verifier.WrongToken(c.PeerNetwork(), login.name, u, &c.Settings.Auth.Rules)
		return auth.ErrBadLogin
	}
	status, err := redirection(c, "next", http.StatusOK)
	if err != nil {
		return err
	}
	secret, err := h.cookieSecret(c.Env)
	if err != nil {
		return err
	}
	setSessionCookie(c, principal.NewSession(login.name, secret+u.Salt, c.Settings.Auth.Algorithms[0], time.Now()))
	b := ejson.AppendString([]byte(`{"ok":true,"name":`), login.name)
	b = ejson.AppendStrings(append(b, `,"roles":`...), u.Roles)
	return c.JSON(status, append(b, '}'))
}

// loginFailed answers a wrong login. It never sends WWW-Authenticate, which would make browsers
// open a dialog, and always clears the cookie.
func loginFailed(c *call.Call) error {
	status, err := redirection(c, "fail", http.StatusUnauthorized)
	if err != nil {
		return err
	}
	setSessionCookie(c, "")
	return c.ErrorBody(status, auth.ErrBadLogin)
}

// deleteSession clears the browser's cookie; the session lives on until it times out, as in
// CouchDB.
func deleteSession(c *call.Call) error {
	status, err := redirection(c, "next", http.StatusOK)
	if err != nil {
		return err
	}
	setSessionCookie(c, "")
	return c.OK(status)
}

// redirection sets Location to the path of a query parameter, if it is given, and returns the
// status of the answer.
func redirection(c *call.Call, parameter string, status int) (int, error) {
	path, given := c.Query.First(parameter)
	if !given {
		return status, nil
	}
	if !strings.HasPrefix(path, "/") {
		return 0, errRedirectPath
	}
	c.SetHeader("Location", c.BaseURL()+headerSafe(path))
	return http.StatusFound, nil
}

// headerSafe escapes what would end a header line.
func headerSafe(s string) string {
	return strings.NewReplacer("\r", "%0D", "\n", "%0A", "\x00", "%00").Replace(s)
}

// setSessionCookie sets the cookie to a value; "" clears it.
func setSessionCookie(c *call.Call, value string) {
	options := c.Settings.Auth.Cookie
	options.Secure = c.Request.TLS != nil
	c.SetHeader("Set-Cookie", options.SetCookie(value, time.Now()))
}

// renewSession gives a session a new cookie.
func renewSession(c *call.Call, key string) {
	setSessionCookie(c, principal.NewSession(c.User.Name, key, c.Settings.Auth.Algorithms[0], time.Now()))
}

// readLogin reads the body of a login: a form or JSON, by the beginning of the content type.
func readLogin(c *call.Call) (login credentials, err error) {
	fields := map[string]string{}
	switch contentType := c.Header("Content-Type"); {
	case strings.HasPrefix(contentType, "application/x-www-form-urlencoded"):
		fields, err = formFields(c)
	case strings.HasPrefix(contentType, "application/json"):
		fields, err = jsonFields(c)
	default:
		err = errSessionContent
	}
	if err != nil {
		return login, err
	}
	name, named := fields["name"]
	username, alsoNamed := fields["username"]
	switch {
	case !named && !alsoNamed:
		return login, errNoUsername
	case named && alsoNamed && name != username:
		return login, errTwoUsernames
	case !named:
		name = username
	}
	return credentials{name, fields["password"], fields["token"]}, nil
}

// formFields reads a form. The first of several equal names counts; what is escaped wrongly stays
// as it is.
func formFields(c *call.Call) (map[string]string, error) {
	raw, err := c.ReadBodyWithin(call.SmallBody)
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for pair := range strings.FieldsFuncSeq(string(raw), func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		name = formText(name)
		if _, double := fields[name]; !double {
			fields[name] = formText(value)
		}
	}
	return fields, nil
}

// formText decodes a value of a form; one that is wrongly encoded counts as it is.
func formText(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return s
}

// jsonFields reads an object of strings. CouchDB crashes on other values; the answers are those of
// its crashes.
func jsonFields(c *call.Call) (map[string]string, error) {
	raw, err := c.ReadBodyWithin(call.SmallBody)
	if err != nil {
		return nil, err
	}
	v, err := c.Parse(raw)
	switch {
	case err != nil:
		return nil, err
	case v.Kind() != ejson.Object:
		return nil, compat.Named(compat.KindUnknown, "badmatch", compat.ErlangText(v))
	}
	fields := make(map[string]string, v.Len())
	for name, value := range v.Members() {
		if value.Kind() != ejson.String {
			return nil, compat.ErrBadArg
		}
		fields[name.Text()] = value.Text()
	}
	return fields, nil
}

// cookieSecret is the secret of cookies. The first login makes one where none is set, for all
// nodes.
func (h *Handlers) cookieSecret(e *call.Env) (string, error) {
	h.secretMu.Lock()
	defer h.secretMu.Unlock()
	if secret := e.Settings().Auth.Secret; secret != "" {
		return secret, nil
	}
	secret := strings.ToLower(rand.Text() + rand.Text())
	return e.Config.SetNew("chttpd_auth", "secret", secret)
}
