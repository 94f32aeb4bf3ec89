package server

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/config"
)

var errNodePath = compat.NewError(compat.KindBadRequest, "Incomplete path to _node request")

// checkNode accepts _local and the node's own name.
func (c *Call) checkNode() error {
	if name := c.Segment(1); name != "_local" && name != c.srv.node {
		return compat.NewError(compat.KindNotFound, "no such node: "+name)
	}
	return nil
}

func nodeIncomplete(*Call) error { return errNodePath }

// nodeSelf answers the node's name for _local, and what the back-end port's welcome was for the name itself.
func nodeSelf(c *Call) error {
	if err := c.checkNode(); err != nil {
		return err
	}
	if c.Segment(1) == "_local" {
		return c.JSON(http.StatusOK, []byte(`{"name":"`+c.srv.node+`"}`))
	}
	b := ejson.AppendString([]byte(`{"couchdb":"Welcome","uuid":`), c.srv.uuid())
	b = append(b, `,"version":"`+Version+`","vendor":`...)
	return c.JSON(http.StatusOK, append(c.appendVendor(b), '}'))
}

func nodeUnknown(c *Call) error {
	if err := c.checkNode(); err != nil {
		return err
	}
	return compat.ErrMissing
}

func getConfig(c *Call) error {
	if err := c.checkNode(); err != nil {
		return err
	}
	all := c.srv.config.All()
	b := []byte{'{'}
	for _, section := range slices.Sorted(maps.Keys(all)) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(ejson.AppendString(b, section), ':')
		b = appendStrings(b, all[section])
	}
	return c.JSON(http.StatusOK, append(b, '}'))
}

func getConfigSection(c *Call) error {
	if err := c.checkNode(); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, appendStrings(nil, c.srv.config.Section(c.Segment(3))))
}

func getConfigKey(c *Call) error {
	if err := c.checkNode(); err != nil {
		return err
	}
	value, ok := c.srv.config.Get(c.Segment(3), c.Segment(4))
	if !ok {
		return configError(config.ErrUnknown)
	}
	return c.JSON(http.StatusOK, ejson.AppendString(nil, value))
}

func putConfigKey(c *Call) error {
	section, key := c.Segment(3), c.Segment(4)
	if config.Protected(section) {
		return configError(config.ErrProtected)
	}
	v, err := c.JSONBody()
	if err != nil {
		return err
	}
	if v.Kind() != ejson.String {
		return compat.NewError(compat.KindBadRequest, "a JSON string expected")
	}
	if err := c.checkNode(); err != nil {
		return err
	}
	value := strings.Trim(v.Text(), " \t\r\n")
	if section == "admins" {
		if value, err = c.hashAdmin(value); err != nil {
			return err
		}
	}
	old, err := c.srv.config.Set(section, key, value, c.persist())
	if err != nil {
		return configError(err)
	}
	return c.JSON(http.StatusOK, ejson.AppendString(nil, old))
}

func deleteConfigKey(c *Call) error {
	section, key := c.Segment(3), c.Segment(4)
	if config.Protected(section) {
		return configError(config.ErrProtected)
	}
	if err := c.checkNode(); err != nil {
		return err
	}
	old, err := c.srv.config.Delete(section, key, c.persist())
	if err != nil {
		return configError(err)
	}
	return c.JSON(http.StatusOK, ejson.AppendString(nil, old))
}

func reloadConfig(c *Call) error {
	if err := c.checkNode(); err != nil {
		return err
	}
	if err := c.srv.config.Reload(); err != nil {
		return compat.NewError(compat.KindBadRequest, err.Error())
	}
	if err := HashAdmins(c.srv.config); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

// persist tells whether a change is written to the ini file: unless X-Couch-Persist is exactly false.
func (c *Call) persist() bool { return c.Header("X-Couch-Persist") != "false" }

// configError gives the configuration's errors their kinds.
func configError(err error) error {
	switch {
	case errors.Is(err, config.ErrUnknown):
		return compat.NewError(compat.KindNotFound, err.Error())
	case errors.Is(err, config.ErrProtected):
		return compat.NewError(compat.KindForbidden, err.Error())
	case errors.Is(err, config.ErrSection), errors.Is(err, config.ErrKey), errors.Is(err, config.ErrValue):
		return compat.NewError(compat.KindBadRequest, err.Error())
	}
	return err
}

func getVersions(c *Call) error {
	if err := c.checkNode(); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, []byte(`{"javascript_engine":{"version":"goja","name":"spidermonkey"},"erlang":{"version":"25.3.2","supported_hashes":`+
		`["blake2s","blake2b","sha3_512","sha3_384","sha3_256","sha3_224","sha512","sha384","sha256","sha224","sha","md5"]},`+
		`"collation_driver":{"name":"libicu","library_version":"72.1","collator_version":"153.120","collation_algorithm_version":"15"}}`))
}

// getSmooshStatus reports automatic compaction, which has no channels here.
func getSmooshStatus(c *Call) error {
	if err := c.checkNode(); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, []byte(`{"channels":{}}`))
}
