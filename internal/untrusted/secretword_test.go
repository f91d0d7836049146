package untrusted_test

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/untrusted"
)

func TestNamesSecret_findsSecretWords(t *testing.T) {
	for text, want := range map[string]bool{
		"password": true, "apiKey": true, "api_key": true, "Your Passphrase": true, "the access token of GitHub": true, "PIN": true, "X-Api-Key": true,
		"card.number": true, "one time code": true, "Authorization token": true,
		"p\u00e0ssw\u00f6rd": true, "ｐａｓｓｗｏｒｄ": true, "𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝": true, "ⓟⓐⓢⓢⓦⓞⓡⓓ": true, "pаsswоrd": true, "рαѕѕwоrd": true, "ᴘᴀꜱꜱᴡᴏʀᴅ": true, "p4$$w0rd": true,
		"p a s s w o r d": true, "P-A-S-S-W-O-R-D": true, "PASSW0RD": true, "аpi kеy": true,
		"Ihr Passwort": true, "Kennwort wiederholen": true, "votre mot de passe": true, "Contraseña": true, "contrasenya": true, "senha": true, "Palavra-passe": true,
		"parola d'ordine": true, "wachtwoord": true, "Lösenord": true, "passord": true, "adgangskode": true, "salasanasi": true, "hasło": true, "Heslo": true, "jelszó": true,
		"lozinka": true, "şifreniz": true, "mật khẩu": true, "kata sandi": true, "Введите пароль": true, "Лозинка": true, "Κωδικός πρόσβασης": true, "סיסמה": true,
		"كلمة المرور": true, "رمز عبور": true, "पासवर्ड": true, "รหัสผ่าน": true, "请输入密码": true, "密碼": true, "パスワードを入力": true, "ﾊﾟｽﾜｰﾄﾞ": true, "暗証番号": true, "비밀번호": true,
		"clé API": true, "API-Schlüssel": true,
		"Wort": false, "clave": false, "la parola da cercare": false, "пар": false, "ключ от города": false, "a b c d e": false, "say i am a pi": false, "Nominal 4 5 1": false,
		"中文": false, "言葉": false, "passe-partout": false, "tokens": false, "Spinne": false,
		"passenger": false, "pins the poster": false, "tokenize": false, "keyboard": false, "region": false, "": false,
	} {
		if untrusted.NamesSecret(text) != want {
			t.Errorf("%q: got %v, want %v", text, !want, want)
		}
	}
}

// TestNamesSecret_knowsLookAlikeLetters replaces every letter of every word by look-alikes.
func TestNamesSecret_knowsLookAlikeLetters(t *testing.T) {
	tried := 0
	for _, word := range []string{"password", "secret", "credential", "api key", "access token", "passphrase", "kennwort", "contrasena", "wachtwoord", "losenord"} {
		for i, letter := range word {
			for _, r := range untrusted.Alike(letter) {
				tried++
				if text := "Your " + word[:i] + string(r) + word[i+1:]; !untrusted.NamesSecret(text) {
					t.Errorf("NamesSecret(%q) with %U = false, want true", text, r)
				}
			}
		}
	}
	t.Logf("%d spellings", tried)
}
