file "/etc/web.conf" { content = "# managed by fettle\n" }
