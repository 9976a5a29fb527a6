test "a primary has the databases" {
  expect {
    states    = ["exec.role[\"shop\"]", "exec.database[\"shop\"]"]
    no_states = ["file.standby"]
    order     = ["PKG postgresql-15", "COPY * /etc/postgresql/15/main/conf.d/shop.conf*", "UNIT postgresql.service*", "EXEC *createuser*", "EXEC *createdb*"]
  }
}

test "a standby follows" {
  vars = { postgres_primary = "db1.ber.example.net", postgres_version = "16" }
  expect {
    states    = ["file.standby"]
    no_states = ["exec.role[\"shop\"]"]
    steps     = ["COPY * /etc/postgresql/16/main/conf.d/standby.conf*"]
  }
}
