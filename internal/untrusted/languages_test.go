package untrusted_test

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/untrusted"
)

// labels returns the texts of lines with a language prefix.
func labels(list string) (texts []string) {
	for line := range strings.Lines(list) {
		if _, rest, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			texts = append(texts, strings.Split(rest, "|")...)
		}
	}
	return texts
}

// TestNamesSecret_inNinetyLanguages checks secret and harmless form labels in ninety languages.
func TestNamesSecret_inNinetyLanguages(t *testing.T) {
	for _, text := range labels(translated) {
		if !untrusted.NamesSecret(text) {
			t.Errorf("NamesSecret(%q) = false, want true", text)
		}
	}
	for _, text := range labels(others) {
		if untrusted.NamesSecret(text) {
			t.Errorf("NamesSecret(%q) = true, want false", text)
		}
	}
	t.Logf("%d secrets, %d others", len(labels(translated)), len(labels(others)))
}

// Invisible joiners and separators make no difference.
func TestNamesSecret_ignoresInvisibleJoiners(t *testing.T) {
	for _, text := range []string{"\u0631\u0645\u0632\u200c\u0639\u0628\u0648\u0631", "pass\u200dword", "pass\u200cword"} {
		if !untrusted.NamesSecret(text) {
			t.Errorf("NamesSecret(%q) = false, want true", text)
		}
	}
}

// TestNamesSecret_knowsEachKindOfSecret checks each kind of secret in the most common languages.
func TestNamesSecret_knowsEachKindOfSecret(t *testing.T) {
	for _, text := range labels(`
en: Recovery words|your 12 words|Seed phrase|Wallet mnemonic|CVV2|One-time code|6-digit verification code|Backup codes|debit card number|API keys|personal access token|newpassword|password1|masterPasswordHash|userPIN|enter P I N|P-I-N
de: PIN|Wiederherstellungswörter|Wiederherstellungsschlüssel|Kreditkartennummer|Sicherheitscode|API-Schlüssel|Zugriffstoken|Einmalpasswort|Ihr Hauptpasswort
fr: code PIN|phrase de récupération|mots de récupération|numéro de carte|code de sécurité|clé d'API|jeton d'accès|code à usage unique
es: código PIN|su clave|Ingrese la clave|frase semilla|palabras de recuperación|número de tarjeta|código de seguridad|clave API|token de acceso|código de un solo uso
pt: código PIN|frase de recuperação|palavras de recuperação|número do cartão|código de segurança|chave de API|token de acesso|código de uso único
it: Parola|La tua parola|codice PIN|parole di recupero|frase di recupero|numero della carta|codice di sicurezza|chiave API|token di accesso|codice monouso
ro: Introduceți parola|parola nouă|cuvinte de recuperare|numărul cardului|cod de securitate|cheie API|cod de verificare
nl: pincode|herstelzin|herstelwoorden|kaartnummer|beveiligingscode|API-sleutel|toegangstoken|eenmalige code
sv: PIN-kod|återställningsfras|kortnummer|säkerhetskod|API-nyckel|åtkomsttoken|engångskod
da: PIN-kode|gendannelsesord|kortnummer|sikkerhedskode|API-nøgle|engangskode
no: PIN-kode|gjenopprettingsord|kortnummer|sikkerhetskode|API-nøkkel|engangskode
fi: PIN-koodi|palautuslause|kortin numero|turvakoodi|API-avain|kertakäyttökoodi
pl: Podaj hasło|kod PIN|fraza odzyskiwania|słowa odzyskiwania|numer karty|kod bezpieczeństwa|klucz API|token dostępu|kod jednorazowy
cs: PIN kód|číslo karty|bezpečnostní kód|klíč API|jednorázový kód|obnovovací fráze
hu: PIN-kód|helyreállítási szavak|kártyaszám|biztonsági kód|API-kulcs|egyszer használatos kód
hr: PIN kod|broj kartice|sigurnosni kod|API ključ
lv: Parole|Jūsu parole|drošības kods|kartes numurs
tr: Parola|Yeni parolanız|PIN kodu|kurtarma kelimeleri|kart numarası|güvenlik kodu|API anahtarı|erişim anahtarı|tek kullanımlık kod
vi: mã PIN|cụm từ khôi phục|số thẻ|mã bảo mật|khóa API|mã xác minh
id: kode PIN|frasa pemulihan|nomor kartu|kode keamanan|kunci API|token akses|kode OTP
ms: kod PIN|kod keselamatan|kunci API
sw: nenosiri|namba ya kadi|msimbo wa usalama
ru: ПИН|пин-код|ПИНКОД|сид-фраза|слова для восстановления|номер карты|код безопасности|ключ API|токен доступа|одноразовый код|код из СМС|кодовое слово
uk: ПІН|фраза для відновлення|номер картки|код безпеки|ключ API|одноразовий код
bg: парола|ПИН код|номер на картата|код за сигурност
el: Κωδικός|Ο κωδικός σας|κωδικός PIN|ΚΩΔΙΚΟΣ|φράση ανάκτησης|αριθμός κάρτας|κωδικός ασφαλείας|κλειδί API
he: קוד סודי|הסיסמה שלך|מילות שחזור|מספר כרטיס|קוד אבטחה|מפתח API|קוד חד פעמי
ar: الرقم السري|عبارة الاسترداد|رقم البطاقة|رمز الأمان|مفتاح API|رمز التحقق
fa: رمز عبور|عبارت بازیابی|شماره کارت|کد امنیتی|رمز یکبار مصرف|توکن
ur: پاس ورڈ|خفیہ کوڈ|کارڈ نمبر
hi: पासवर्ड|पिन|रिकवरी वाक्यांश|कार्ड नंबर|सुरक्षा कोड|एपीआई कुंजी|ओटीपी
bn: পাসওয়ার্ড|পিন|কার্ড নম্বর|নিরাপত্তা কোড|ওটিপি
mr: गुप्त कोड|कार्ड क्रमांक
ta: கடவுச்சொல்|இரகசிய எண்|அட்டை எண்
te: పాస్వర్డ్|కార్డ్ నంబర్|రహస్య కోడ్
ml: പാസ്വേഡ്|രഹസ്യ കോഡ്
kn: ಗುಪ್ತಪದ
gu: પાસવર્ડ|પિન|કાર્ડ નંબર
pa: ਪਾਸਵਰਡ|ਕਾਰਡ ਨੰਬਰ
th: รหัสผ่าน|รหัส PIN|วลีกู้คืน|หมายเลขบัตร|รหัสความปลอดภัย|คีย์ API|รหัส OTP
my: စကားဝှက်
zh: 请输入密码|助记词|恢复短语|信用卡号|安全码|API密钥|访问令牌|验证码|個人識別碼
ja: 暗証番号を入力|シードフレーズ|復元フレーズ|カード番号|セキュリティコード|APIキー|アクセストークン|ワンタイムコード
ko: 핀 번호|복구 문구|시드 구문|카드번호를 입력|보안코드|API 키|액세스 토큰|인증번호|일회용 코드
am: የይለፍ ቃል
ka: პაროლი
hy: գաղտնաբառ
`) {
		if !untrusted.NamesSecret(text) {
			t.Errorf("NamesSecret(%q) = false, want true", text)
		}
	}
}

// TestNamesSecret_knowsMisspeltWords checks long words with one wrong letter, and look-alike letters.
func TestNamesSecret_knowsMisspeltWords(t *testing.T) {
	for _, text := range labels(`
x: passwrd|passvvord|pasword|passsswoord|passwodr|psasword|Your passwird|passw0rd|p@55w0rd|pa$$vv0rd|passphase|pass phrase|passfrase|passcod|paescode|Kenwort|contraseñaa|wachtwoort|credentails|P1N|ΡΙΝ|t0ken|$ecret|ＰＩＮ|PI\u00adN|аpі kеу
`) {
		if text = strings.ReplaceAll(text, `\u00ad`, "\u00ad"); !untrusted.NamesSecret(text) {
			t.Errorf("NamesSecret(%q) = false, want true", text)
		}
	}
}

// Labels of ordinary forms are not secrets.
func TestNamesSecret_passesOrdinaryLabels(t *testing.T) {
	honest := labels(`
p: Passenger|Passengers|Number of passengers|Pinterest board|Compass|Compass direction|Parole officer|Parole date|Spin|Spin speed|Passport country|Passport|Passport number|Passport expiry|Boarding pass|Season pass|Passed tests|Pass or fail|Passive voice|Passion|Bypass route|Passage|Past work|Password-less|Map pin|Lapel pin size|Bowling pin|GPIO pin|Pin colour|Pin board|Pinned posts|Pink|Pint size|Opinion|Spinach|Pineapple|Shopping list|Shipping address|Mapping
k: Keyboard layout|Keyword|Keywords|Key signature|Key of the song|Monkey|Turkey|Hockey team|Keynote|Public key|Primary key column|Sort key|Foreign key|Hotkey|Key result
t: Tokens|Max tokens|Token count|Token limit|Tokenizer|Tokyo office|Token name|Secret Santa group|Secret ingredient|Secretary|Secretariat|Secretion
c: Country code|Postal code|Postcode|ZIP code|Area code|Dialling code|Discount code|Voucher code|Promo code|Product code|Currency code|Language code|Colour code|Error code|Status code|Exit code|Source code|QR code|Bar code|Code of conduct|Code review|Dress code|Morse code|Booking code|Codec|Card type|Card colour|Trading card|Business card title|Score card|Library card number|Cardinality|Cardiff|Credits|Credit limit|Credit hours|Accreditation|Number of cards|House number|Ward number|Yard number|Phone number|Flight number
w: Word count|Words to find|Crossword clue|Sword type|Swordfish|Forward to|Reward|Last word|World|Seed for the random numbers|Seed variety|Number of seeds|Phrase to translate|Phrase book|Recovery time|Recovery date|Recovery plan|Describe it in 12 words|Back up folder|Backup time|Mnemonic|One-time payment|One time event|Access road|Accessibility|Access level|Authority|Author|Authorisation date|Security deposit|Security clearance level|Security guard|Social club|Social media handle|Bearer bond|Session title|Session chair|Refresh rate|Sign in sheet|Verification date|Login page colour|SMS text
n: Name|First name|Last name|Email address|Date of birth|Street|City|Country|Amount (PLN)|Tan lines|Tango|Otter|Options|Laptop|PwC office|CVS branch|SSD size|Spinner|Pinocchio|Alpine|Lapin|Matin|Latin name|Satin|Gesloten dagen|Haslemere|Heslington
de: Wortanzahl|Stichwort|Kennwert|Kennzeichen|Antwort|Passform|Passagiere|Reisepass|Reisepassnummer|Schlüsselwort|Schlüsselbund|Kartentyp|Postleitzahl|Gehäuse
fr: la parole|Prise de parole|Mot clé|Mots clés|Passe-partout|Passager|Passeport|Clé de sol|Code postal|Jetons|Carte postale|Identifiant
es: Palabra clave|Palabras clave|Clave de sol|Pasajeros|Pasaporte|Código postal|Contraste|Tarjeta|Contrato
it: Parola da cercare|Parola chiave|Parole chiave|La parola|Una parola|Numero di parole|Codice postale|Codice fiscale|Chiave di violino|Passeggeri|Passaporto|Carta
x: Palavra|Palavra-chave|Mot|Sleutelwoord|Woord|Trefwoord|Nyckelord|Sökord|Hakusana|Słowo kluczowe|Klíčové slovo|Kulcsszó|Anahtar kelime|Kata kunci pencarian|Từ khóa
ru: Ключ от города|Ключевое слово|Слово|Пассажир|Паром|Пингвин|Почтовый код|Код страны|Карта|Номер телефона|Паспорт
el: Ταχυδρομικός κωδικός|Κωδικός προϊόντος|Κωδικός χώρας|Λέξη|Κωδικοποίηση|Κάρτα
z: 密码学|暗号化方式|암호화폐|카드|토큰화 방식|言葉|中文|キーワード|カード|郵便番号|关键词|邮政编码|키워드|우편번호
`)
	if len(honest) < 150 {
		t.Fatalf("got %d labels, want at least 150", len(honest))
	}
	for _, text := range honest {
		if untrusted.NamesSecret(text) {
			t.Errorf("NamesSecret(%q) = true, want false", text)
		}
	}
	t.Logf("%d labels", len(honest))
}
