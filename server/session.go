package server

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/auth"
)

var (
	errPleaseLogin    = compat.NewError(compat.KindUnauthorized, "Please login.")
	errNoUsername     = compat.NewError(compat.KindBadRequest, "request body must contain a username")
	errTwoUsernames   = compat.NewError(compat.KindBadRequest, "request body contains different usernames")
	errRedirectPath   = compat.NewError(compat.KindBadRequest, "path must begin with a /.")
	errSessionContent = compat.NewError(compat.KindBadContentType, "Content-Type must be 'application/x-www-form-urlencoded' or 'application/json'")
)

// getSession tells who the client is.
func getSession(c *Call) error {
	if basic, _ := c.query.First("basic"); basic == "true" && c.user.Name == "" {
		return errPleaseLogin
	}
	b := append([]byte(nil), `{"ok":true,"userCtx":{"name":`...)
	if c.user.Name == "" {
		b = append(b, "null"...)
	} else {
		b = ejson.AppendString(b, c.user.Name)
	}
	b = appendNames(append(b, `,"roles":`...), c.user.Roles)
	b = append(b, `},"info":{"authentication_handlers":[`...)
	for i, h := range c.set.auth.handlers {
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendString(b, h.name)
	}
	b = append(b, ']')
	if c.user.Handler != "" {
		b = ejson.AppendString(append(b, `,"authenticated":`...), c.user.Handler)
	}
	if c.set.auth.showUsersDB {
		b = ejson.AppendString(append(b, `,"authentication_db":`...), c.set.auth.usersDB)
	}
	return c.JSON(http.StatusOK, append(b, "}}"...))
}

func appendNames(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendString(b, s)
	}
	return append(b, ']')
}

// credentials are the fields of a login.
type credentials struct{ name, password, token string }

// postSession logs in (couch_httpd_auth:handle_session_req).
func postSession(c *Call) error {
	login, err := c.readLogin()
	if err != nil {
		return err
	}
	u, err := c.findUser(login.name)
	if err != nil {
		return err
	}
	ok, err := c.checkPassword(login.name, login.password, u)
	if err != nil {
		return err
	}
	if !ok {
		return c.loginFailed()
	}
	if u.TOTP != nil && !u.TOTP.Verify(login.token, time.Now()) {
		return auth.ErrBadLogin
	}
	status, err := c.redirection("next", http.StatusOK)
	if err != nil {
		return err
	}
	secret, err := c.srv.cookieSecret()
	if err != nil {
		return err
	}
	c.setSessionCookie(auth.NewSession(login.name, secret+u.Salt, c.set.auth.algorithms[0], time.Now()))
	b := ejson.AppendString([]byte(`{"ok":true,"name":`), login.name)
	b = appendNames(append(b, `,"roles":`...), u.Roles)
	return c.JSON(status, append(b, '}'))
}

// loginFailed answers a wrong login: never with WWW-Authenticate, always with the cookie cleared.
func (c *Call) loginFailed() error {
	status, err := c.redirection("fail", http.StatusUnauthorized)
	if err != nil {
		return err
	}
	c.setSessionCookie("")
	return c.errorBody(status, auth.ErrBadLogin)
}

// deleteSession clears the browser's cookie; the session lives on until it times out, as in CouchDB.
func deleteSession(c *Call) error {
	status, err := c.redirection("next", http.StatusOK)
	if err != nil {
		return err
	}
	c.setSessionCookie("")
	return c.OK(status)
}

// redirection sets Location to the path of a query parameter, if it is given, and returns the status of the answer.
func (c *Call) redirection(parameter string, status int) (int, error) {
	path, given := c.query.First(parameter)
	if !given {
		return status, nil
	}
	if !strings.HasPrefix(path, "/") {
		return 0, errRedirectPath
	}
	c.SetHeader("Location", c.baseURL()+headerSafe(path))
	return http.StatusFound, nil
}

// headerSafe escapes what would end a header line.
func headerSafe(s string) string {
	return strings.NewReplacer("\r", "%0D", "\n", "%0A", "\x00", "%00").Replace(s)
}

// setSessionCookie sets the cookie to a value; "" clears it.
func (c *Call) setSessionCookie(value string) {
	options := c.set.auth.cookie
	options.Secure = c.r.TLS != nil
	c.SetHeader("Set-Cookie", options.SetCookie(value, time.Now()))
}

// renewSession gives a session that has less than nine tenths of its time left a new cookie, unless the answer sets one itself
// (couch_httpd_auth:cookie_auth_header).
func (c *Call) renewSession() {
	if c.renewKey != "" && c.w.Header()["Set-Cookie"] == nil {
		c.setSessionCookie(auth.NewSession(c.user.Name, c.renewKey, c.set.auth.algorithms[0], time.Now()))
	}
}

// readLogin reads the body of a login: a form or JSON, by the beginning of the content type.
func (c *Call) readLogin() (login credentials, err error) {
	fields := map[string]string{}
	switch contentType := c.Header("Content-Type"); {
	case strings.HasPrefix(contentType, "application/x-www-form-urlencoded"):
		fields, err = c.formFields()
	case strings.HasPrefix(contentType, "application/json"):
		fields, err = c.jsonFields()
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

// formFields reads a form. The first of several equal names counts; what is escaped wrongly stays as it is.
func (c *Call) formFields() (map[string]string, error) {
	raw, err := c.readBody(smallBody)
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

func formText(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return s
}

// jsonFields reads an object of strings. CouchDB crashes on other values; the answers are those of its crashes.
func (c *Call) jsonFields() (map[string]string, error) {
	raw, err := c.readBody(smallBody)
	if err != nil {
		return nil, err
	}
	v, err := c.parse(raw)
	switch {
	case err != nil:
		return nil, err
	case v.Kind() != ejson.Object:
		return nil, compat.Named(compat.KindUnknown, "badmatch", v.Text())
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

// cookieSecret is the secret of cookies. The first login makes one where none is set.
func (s *Server) cookieSecret() (string, error) {
	s.secretMu.Lock()
	defer s.secretMu.Unlock()
	if secret := s.settings.Load().auth.secret; secret != "" {
		return secret, nil
	}
	secret := strings.ToLower(rand.Text() + rand.Text())
	_, err := s.config.Set("chttpd_auth", "secret", secret, true)
	return secret, err
}
