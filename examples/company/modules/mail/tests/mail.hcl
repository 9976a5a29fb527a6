test "everything goes to the admins" {
  vars = { domain = "shop.example", admin_mail = "ops@shop.example", mail_relay = "mail.ber.example.net" }
  expect { order = ["PKG msmtp-mta", "COPY * /etc/msmtprc"] }
}
