package source

// misplaced describes why a block of this type is not allowed here, "" if it is.
func (ps *parser) misplaced(block string) (summary, detail string) {
	top := ps.in == nil && ps.top
	switch block {
	case "test":
		return "Test among states",
			"Tests must be in separate files: modules/NAME/tests/*.hcl, or tests/*.hcl at the top of the repository."
	case "exported":
		if ps.in != nil || ps.top {
			return "Exported block outside of a module",
				"Only a module can declare values of other targets. Move the exported block into a file of the module."
		}
	case "needs":
		if ps.in != nil || ps.top {
			return "Needs block outside of a module",
				`Only a module can declare needs. Move the block into a file of the module. For a module that all other modules need, ` +
					`set layer = ["NAME"].`
		}
	}
	if top {
		return "", ""
	}
	switch block {
	case "command":
		return "Command inside a module",
			"A command selects targets, so it must be declared at the top of the repository. Inside a module, declare an action."
	case "target":
		return "Target inside a module", "Targets are declared at the top of the repository, in fettle.hcl."
	case "enrolled":
		return "Target inside a module", "Enrolled targets are declared at the top of the repository."
	case "role", "target_group":
		return "Level inside a module", "Roles and target groups are declared at the top of the repository, in fettle.hcl."
	case "rollout":
		return "Rollout inside a module",
			"A rollout selects targets, so it must be declared at the top of the repository, in fettle.hcl."
	case "window":
		return "Window inside a module",
			"A window is for targets, so it must be declared at the top of the repository, in fettle.hcl."
	case "lock":
		return "Lock inside a module",
			"A lock is for targets, so it must be declared at the top of the repository, in fettle.hcl."
	case "barrier":
		return "Barrier inside a module",
			"A barrier selects targets, so it must be declared at the top of the repository, in fettle.hcl."
	case "signal":
		return "Signal inside a module",
			"A signal is for targets, so it must be declared at the top of the repository, in fettle.hcl."
	case "scope_kind", "scope", "cluster":
		return "Scope inside a module",
			"A scope selects targets, so it must be declared at the top of the repository, in fettle.hcl."
	case "policy":
		return "Policy inside a module",
			"A policy can be set at the top of the repository, in fettle.hcl, or inside a target."
	case "ssh":
		return "SSH inside a module",
			"An ssh block can be set at the top of the repository, in fettle.hcl, or inside a target or target_group."
	}
	return "", ""
}
