package assign

import (
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/window"
)

// RootPart is the root bundle as a part of a revision. The other parts are the directories of modules.
const RootPart = "top"

// Contents is the compiled repository at one revision.
type Contents struct {
	Revision fleet.Revision
	// Author is the author of the commit as git shows it, NAME <MAIL>; "" if it is not known.
	Author string
	// Enrolled is the EnrolledDigest of the targets with which it was compiled, because their
	// labels select modules.
	Enrolled string
	// Error is the reason why the revision is unusable. The other fields are empty then.
	Error string
	// Root is the root bundle.
	Root fleet.Bundle
	// Bundles are the bundles of the modules, by directory.
	Bundles map[string]fleet.Bundle
	// Proofs are the proofs of the bundles, by directory, with "" for the root bundle. A revision
	// without a signature has none.
	Proofs map[string]fleet.Bundle
	// Versions are the declarations about versions, by directory. Bundles that declare nothing are not in it.
	Versions map[string]Versioned
	// Targets are the configurations by name, also of targets that are only enrolled.
	Targets map[string]Configured
	// Strategies and Locks are the strategies and locks that the revision declares.
	Strategies []query.Strategy
	Locks      []source.Lock
	Waits      query.Coordination // barriers and signals
	Limits     []fleet.Limits     // of organizations
	Scopes     query.Scopes       // without the inputs of tasks
}

// Configured is the configuration of one target at one revision.
type Configured struct {
	Labels map[string]string // of the repository and of the registry
	// Modules are in the order of the catalog. Targets may share the slice.
	Modules []Module
	// ExportUses are the uses of exported values by the modules. Targets may share the slice.
	ExportUses []source.Exported
	Strategy   string // the name of the strategy of its rollouts; "" means none
	// Windows are the windows for its changes, sorted by name. Targets may share the slice.
	Windows []window.Window
	// Errors are configuration errors for users, because of which the revision is unusable for the
	// target.
	Errors []string
}

// Module is a module of a target.
type Module struct {
	Directory string // below modules/
	Needs     []fleet.Need
	From      []string // the origins of the module: "target group web (fettle.hcl:7)"
}

// Versioned contains what one bundle declares about versions. Most bundles declare nothing.
type Versioned struct {
	// Versions are the versions of the modules in the bundle, by directory.
	Versions map[string]string `json:"versions,omitempty"`
	// Requires are the constraints of these modules on modules of other bundles, sorted.
	Requires []Requirement `json:"requires,omitempty"`
}

// Requirement is a constraint of a module on the version of another module.
type Requirement struct {
	By      string `json:"by"`      // the directory of the module with the constraint
	Module  string `json:"module"`  // the directory of the other module
	Version string `json:"version"` // the constraint
}

// bundle returns the bundle of a part, or the zero value.
func (r Contents) bundle(part string) fleet.Bundle {
	if part == RootPart {
		return r.Root
	}
	return r.Bundles[part]
}

// at returns the revision with the ref through which it was found.
func (r Contents) at(ref string) fleet.Revision {
	out := r.Revision
	out.Branch = ref
	return out
}

// proof returns the proof of a part, or nil.
func (r Contents) proof(directory string) *fleet.Bundle {
	if p, ok := r.Proofs[directory]; ok {
		return &p
	}
	return nil
}
