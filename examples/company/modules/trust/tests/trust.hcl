test "our authority" {
  expect {
    steps = ["COPY * /usr/local/share/ca-certificates/example-shop.crt*", "MKDIR /etc/ssl/shop*"]
    order = ["PKG ssl-cert", "MKDIR /etc/ssl/shop*"]
  }
}
