test "rules are loaded once" {
  expect {
    steps = ["COPY * /etc/audit/rules.d/30-accounts.rules*", "ACT run *augenrules --load*"]
    order = ["PKG auditd", "COPY * /etc/audit/rules.d/10-base.rules*"]
  }
}
