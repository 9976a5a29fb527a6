file "/etc/base.conf" { content = "# managed by fettle\n" }
