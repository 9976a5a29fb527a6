package cli

// selectingCommands are the words of commands that ask a hub about targets of -t.
func selectingCommands() []string {
	return []string{
		"target list", "target approve", "target label", "target unpin", "target freeze", "target unfreeze",
		"target suspect", "target trust", "target retire", "target revoke", "cert revoke", "job apply", "job report",
		"job verify", "agent upgrade", "request policy set", "request policy delete", "notify set", "events",
		"exemption request",
	}
}

// hubCommands are the words of commands that ask a hub and have only the flag --json.
func hubCommands() []string {
	return []string{
		"target show", "target history", "module show", "module history", "export list", "alarm list", "alarm approve",
		"request list", "request approve", "request reject", "request policy", "audit list", "audit copy", "audit check",
		"cert list", "hub backup", "hub check", "hub chown", "hub init", "hub join", "hub list", "hub restore", "hub retire",
		"hub token", "notify approve", "notify reject", "notify list", "notify delete", "notify test", "exemption approve",
		"exemption end", "user list", "user login", "user logins", "user revoke", "user set", "fleet release",
		"fleet rollbacks", "exemption list", "job list", "job show", "job cancel", "token create", "token list",
		"token revoke", "rollout verdict", "rollout list", "rollout show", "rollout pause", "rollout resume",
		"rollout abort", "rollout rollback", "rollout promote", "rollout skip", "rollout retry", "rollout release",
		"rollout approve", "rollout reject", "lock list", "lock release",
	}
}
