package main

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/server"
)

// release is the version of this tree, and the only place that has it besides CHANGELOG.md
// (TestReleaseIsInTheChangelog). `make release`, the packages and the image read it from here.
const release = "0.1.0"

// buildVersion names what was built. `settee version` prints it, and GET / shows it as git_sha.
func buildVersion() string {
	info, _ := debug.ReadBuildInfo()
	return chooseVersion(info)
}

// commit is the end of the versions that Go makes up for what has no tag: the commit, and whether
// the tree had changes besides.
var commit = regexp.MustCompile(`-([0-9a-f]{12})(\+dirty)?$`)

// chooseVersion is the release, and for what was built from another commit than its tag's that
// commit behind a +, as semantic versions have details of a build. What was built without git, as
// the archives of a release, says no more than the release. The information may be nil.
func chooseVersion(info *debug.BuildInfo) string {
	if info == nil {
		return release
	}
	version := info.Main.Version
	if parts := commit.FindStringSubmatch(version); parts != nil {
		return release + "+git." + parts[1] + strings.Replace(parts[2], "+", ".", 1)
	}
	if strings.HasSuffix(version, "+dirty") {
		return release + "+dirty"
	}
	return release
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintf(cmd.OutOrStdout(), "settee %s (CouchDB %s, %s)\n", buildVersion(), server.Version,
				runtime.Version())
		},
	}
}
