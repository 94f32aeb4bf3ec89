package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/server"
)

// version is the output of `git describe`, set by the linker (see Makefile and Dockerfile).
var version string

// buildVersion names what was built. `settee version` prints it, and GET / shows it as git_sha.
func buildVersion() string {
	info, _ := debug.ReadBuildInfo()
	return chooseVersion(version, info)
}

// chooseVersion is the linker's version, else the module's (of `go install …@v0.1.0`), else
// "development". The information may be nil.
func chooseVersion(linked string, info *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	if info != nil && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "development"
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
